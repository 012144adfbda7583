-- DynamicScoringConfig: it has no status of its own, so being there is all there is to say.
local masks = 0
if obj.spec ~= nil and obj.spec.masks ~= nil then
  for _ in ipairs(obj.spec.masks) do
    masks = masks + 1
  end
end

local message = tostring(masks) .. " masks"
if masks == 1 then
  message = "1 mask"
end
return {status = "Healthy", message = message}
