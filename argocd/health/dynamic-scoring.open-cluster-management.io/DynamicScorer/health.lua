-- DynamicScorer: always Healthy, with the facts in the message. A scoring API that is down is a fact of run time; it must
-- not stop the sync that brings, say, the correction of its URL.
local facts = {}

if obj.spec ~= nil and obj.spec.suspend == true then
  table.insert(facts, "suspended in git")
end

-- A scorer by query has no scoring API: its health is that of its scores.
local judged = "scoring API"
if obj.spec ~= nil and obj.spec.scoring ~= nil and obj.spec.scoring.type == "Query" then
  judged = "scores"
end

local status = obj.status
if status == nil or (status.healthStatus == nil and status.conditions == nil) then
  table.insert(facts, "no status yet: no reconciler has looked at the " .. judged)
else
  if status.healthStatus ~= nil and status.healthStatus ~= "" then
    table.insert(facts, judged .. " " .. status.healthStatus)
  end
  local generation = obj.metadata.generation
  for _, wanted in ipairs({"Healthy", "ConfigSynced", "Scored"}) do
    for _, condition in ipairs(status.conditions or {}) do
      if condition.type == wanted then
        local text = nil
        if generation ~= nil and condition.observedGeneration ~= nil and condition.observedGeneration < generation then
          text = wanted .. " not evaluated yet for generation " .. tostring(generation)
        elseif condition.status ~= "True" then
          text = wanted .. " is " .. condition.status .. " (" .. (condition.reason or "no reason") .. ")"
          if condition.message ~= nil and condition.message ~= "" then
            text = text .. ": " .. condition.message
          end
        end
        if text ~= nil then
          table.insert(facts, text)
        end
      end
    end
  end
end

return {status = "Healthy", message = table.concat(facts, "; ")}
