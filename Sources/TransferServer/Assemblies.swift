import TransferProtocol
import TransferStore
import TransferSystem

/// The uploads that arrive in parts, by their ids. An assembly stays for a while when the last connection that worked on
/// it has gone, so that a client that comes back finds what it has sent.
final class Assemblies: Sendable {
    private struct Entry {
        let assembly: Assembly
        /// Connections that work on it.
        var holders = 0
        /// When the last of them left, in nanoseconds of the monotonic clock.
        var deserted: Int64 = 0
    }

    private let state = Locked([UploadID: Entry]())

    subscript(id: UploadID) -> Assembly? { state.withLock { $0[id]?.assembly } }

    var isEmpty: Bool { state.withLock { $0.isEmpty } }

    /// Finds or makes the assembly that a part belongs to; the caller holds it until it leaves.
    ///
    /// - Throws: `contentMismatch` when the upload was declared differently before.
    func enter(_ part: Begin.Part, _ function: DigestFunction) throws(StoreError) -> Assembly {
        try state.withLock { (entries) throws(StoreError) in
            let made = Assembly(id: part.upload, total: part.total, function: function)
            var entry = entries[part.upload] ?? Entry(assembly: made)
            try entry.assembly.check(part, function)
            entry.holders += 1
            entries[part.upload] = entry
            return entry.assembly
        }
    }

    /// The caller has gone.
    func leave(_ assembly: Assembly, now: Int64) {
        state.withLock { entries in
            guard var entry = entries[assembly.id], entry.assembly === assembly else { return }
            entry.holders -= 1
            entry.deserted = now
            entries[assembly.id] = entry.holders == 0 && assembly.isEmpty ? nil : entry
        }
    }

    /// It is published or given up.
    func remove(_ assembly: Assembly) {
        state.withLock { entries in
            if entries[assembly.id]?.assembly === assembly { entries[assembly.id] = nil }
        }
    }

    /// Gives up those that were deserted by `moment`, in nanoseconds of the monotonic clock.
    func giveUp(desertedUpTo moment: Int64) {
        let dead = state.withLock { entries in
            let dead = entries.values.filter { $0.holders == 0 && $0.deserted <= moment }
            for entry in dead { entries[entry.assembly.id] = nil }
            return dead
        }
        for entry in dead { entry.assembly.giveUp() }
    }
}
