#pragma once

#include <hotgemm/cache.hpp>
#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>
#include <hotgemm/objective.hpp>
#include <hotgemm/operands.hpp>
#include <hotgemm/plan.hpp>
#include <hotgemm/prepacked.hpp>
#include <hotgemm/types.hpp>
#include <hotgemm/version.hpp>
