/// Handles events of one descriptor, on the loop.
protocol ReadinessHandler: AnyObject {
    func ready(_ readiness: Readiness)
}

/// A watched descriptor: its slot in the loop's table and the slot's generation.
struct Registration {
    let slot: UInt32
    let generation: UInt32

    /// The number that epoll returns with each event.
    var tag: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// Finds the handler for an event. A slot's generation changes when the slot is freed. So an event that was taken from
/// the kernel before a descriptor was closed never reaches the next user of the descriptor's number or slot.
struct RegistrationTable {
    private struct Slot {
        var generation: UInt32 = 0
        var handler: (any ReadinessHandler)?
    }

    private var slots: [Slot] = []
    private var free: [UInt32] = []

    mutating func add(_ handler: any ReadinessHandler) -> Registration {
        let slot = free.popLast() ?? newSlot()
        slots[Int(slot)].handler = handler
        return Registration(slot: slot, generation: slots[Int(slot)].generation)
    }

    mutating func remove(_ registration: Registration) {
        let slot = Int(registration.slot)
        // Trap: a registration comes from `add`, and slots are never removed.
        guard slots[slot].generation == registration.generation, slots[slot].handler != nil else { return }
        slots[slot].handler = nil
        slots[slot].generation &+= 1
        free.append(registration.slot)
    }

    func handler(tag: UInt64) -> (any ReadinessHandler)? {
        let slot = Int(tag & 0xFFFF_FFFF)
        guard slot < slots.count, slots[slot].generation == UInt32(tag >> 32) else { return nil }
        return slots[slot].handler
    }

    private mutating func newSlot() -> UInt32 {
        slots.append(Slot())
        return UInt32(slots.count - 1)
    }
}
