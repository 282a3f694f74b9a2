import TransferCodec
import TransferProtocol
import TransferStore
import TransferSystem

/// What there is of an upload already.
extension UploadLane {
    /// Answers with the blocks that are there, and `accept`; or with a result.
    func resume(_ begin: Begin) {
        let receiving = receiving(begin)
        do throws(StoreError) {
            try authorize(receiving)
            if let result = try receiving.admit(isQuestion: true) {
                return settle(receiving, withReceipt(result, receiving))
            }
            let isKnown = hasEntered(begin.id)
            let found = try tell(receiving.begin)
            if found > 0, !isKnown { events.append(.resumed(receiving.begin, blocks: found, peer: peer)) }
            let id = client.outer(begin.id)
            send(.accept(id))
            outcome.settled.append(id)
        } catch {
            settle(receiving, UploadResult(error, begin.id, size: 0))
        }
    }

    /// - Returns: how many blocks there are.
    private func tell(_ begin: Begin) throws(StoreError) -> Int {
        let assembly = try enter(begin.id, total: begin.size, begin)
        let presence = try assembly.takeOver(connection: connection, run: run) {
            [context, client] () throws(StoreError) in
            try context.store.resume(id: begin.id, size: begin.size, quota: client.quota)
        }
        var count = 0
        var report = BlockReport(client.outer(begin.id), begin.digest)
        switch presence {
        case .known(let parts):
            parts.forEachBlock(digestSize: begin.digest.size) { index, digest in
                count += 1
                report.add(index, Array(digest), to: &outcome.frames)
            }
            report.finish(to: &outcome.frames)
        case .unread(let staged):
            try staged.digestBlocks(of: begin.size, begin.digest, threads: context.configuration.digestThreads) {
                assembly.add($0)
                count += $0.count
                var frames: [UInt8] = []
                for block in $0 { report.add(block.index, block.digest, to: &frames) }
                report.finish(to: &frames)
                early.send(frames)
            }
        }
        return count
    }
}

/// What is taken back.
extension UploadLane {
    /// Ends an upload that its client doesn't want any more. What has arrived of one in parts goes, too.
    func takeBack(_ receiving: Receiving) {
        var error = StoreError(.aborted, "The client took the upload back.")
        if receiving.begin.scope == .assembly {
            do throws(StoreError) {
                try throwAway(receiving.begin)
            } catch let failure {
                error = failure
            }
        }
        reject(receiving, error)
    }

    private func throwAway(_ begin: Begin) throws(StoreError) {
        let assembly = try enter(begin.id, total: nil, begin)
        // Its file has no name any more, or nobody can say so.
        defer { if assembly.isFinished { context.assemblies.remove(assembly) } }
        try assembly.takeBack(connection: connection, run: run) { [context] () throws(StoreError) in
            try context.store.removePart(begin.id)
        }
    }
}

/// Makes `have` frames of blocks that come in order.
private struct BlockReport {
    private let id: UploadID
    private let function: DigestFunction
    private var first: UInt64 = 0
    private var digests: [Digest] = []

    init(_ id: UploadID, _ function: DigestFunction) {
        self.id = id
        self.function = function
    }

    mutating func add(_ index: UInt64, _ digest: [UInt8], to frames: inout [UInt8]) {
        if index != first + UInt64(digests.count) || digests.count == Have.mostBlocks { finish(to: &frames) }
        if digests.isEmpty { first = index }
        digests.append(Digest(function.plain, digest))
    }

    mutating func finish(to frames: inout [UInt8]) {
        guard !digests.isEmpty else { return }
        Message.have(Have(id: id, first: first, digests: digests)).encode(into: &frames)
        digests = []
    }
}
