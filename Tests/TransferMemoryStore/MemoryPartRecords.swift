import TransferModel
import TransferPorts
import TransferSystem

/// What was verified of uploads in parts, beside their bytes.
struct MemoryPartRecords: PartRecords {
    private let medium: MemoryMedium

    init(_ medium: MemoryMedium) { self.medium = medium }

    func join(_ id: UploadID) throws(Failure) -> RecordedParts { try with(id) { $0.recorded } }

    func takeOver(_ id: UploadID) throws(Failure) -> RecordedParts {
        let epoch = medium.state.withLock { state in
            state.lastEpoch += 1
            return state.lastEpoch
        }
        return try with(id) { part in
            part.epoch = max(part.epoch, epoch)
            return part.recorded
        }
    }

    func withdraw(_ range: Range<UInt64>, of id: UploadID, epoch: UInt64) throws(Failure) {
        try with(id) { (part) throws(Failure) in
            guard part.epoch == epoch else { throw .takenOver }
            part.verified = part.verified.flatMap { $0.without(range) }
        }
    }

    func add(_ new: RecordedPart, to id: UploadID, epoch: UInt64) throws(Failure) {
        try with(id) { (part) throws(Failure) in
            guard part.epoch == epoch else { throw .takenOver }
            let others = part.verified.flatMap { $0.without(new.range) }
            part.verified = (others + [new]).sorted { $0.range.lowerBound < $1.range.lowerBound }
        }
    }

    private func with<T>(_ id: UploadID, _ body: (inout MemoryPart.State) throws(Failure) -> T) throws(Failure) -> T {
        guard let part = medium.state.withLock({ $0.parts[id] }) else { throw .takenOver }
        return try part.state.withLock { (state) throws(Failure) in try body(&state) }
    }
}

extension MemoryPart.State {
    fileprivate var recorded: RecordedParts { RecordedParts(epoch: epoch, verified) }
}
