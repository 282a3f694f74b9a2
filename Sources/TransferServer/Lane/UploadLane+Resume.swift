import Synchronization
import TransferCodec
import TransferIO
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// What there is of an upload already.
extension UploadLane {
    /// Begins to answer with the blocks that are there, and `accept`; or answers with a result.
    func resume(_ begin: Begin) {
        let receiving = receiving(begin)
        do throws(StoreError) {
            try authorize(receiving)
            let path = try receiving.checkDeclaration()
            if let result = try receiving.admit(path, isQuestion: true) {
                return settle(receiving, withReceipt(result, receiving))
            }
            let isKnown = hasEntered(begin.id)
            question = OpenQuestion(receiving, try look(receiving.begin), isFirst: !isKnown, client.outer(begin.id))
        } catch {
            settle(receiving, UploadResult(error, begin.id, size: 0))
        }
    }

    private func look(_ begin: Begin) throws(StoreError) -> OpenQuestion.Source {
        let assembly = try enter(begin.id, total: begin.size, begin)
        let presence = try assembly.takeOver(connection: connection, run: run) {
            [context, client] () throws(StoreError) in
            try context.store.resume(id: begin.id, size: begin.size, quota: client.quota)
        }
        switch presence {
        case .known(let parts): return .memory(parts)
        case .unread(let staged, let total): return .file(try staged.survey(of: total, begin.digest), assembly)
        }
    }

    /// Reads on for the open question: some blocks for each call, because others wait, with all threads only where nobody
    /// does, and no further than the first of them for a client that has gone.
    func goOnAnswering() {
        guard var open = question.take() else { return }
        do throws(StoreError) {
            guard !isEnding.load(ordering: .relaxed), open.count == 0 || sender?.isGone() != true else { return }
            let threads = context.pool.isContended ? 1 : context.configuration.digestThreads
            guard let frames = try open.step(threads: threads) else { return end(open) }
            early.send(frames)
            question = open
        } catch {
            settle(open.receiving, UploadResult(error, open.receiving.begin.id, size: 0))
        }
    }

    private func end(_ question: OpenQuestion) {
        if question.count > 0, question.isFirst {
            events.append(.resumed(question.receiving.begin, blocks: question.count, peer: peer))
        }
        var frame: [UInt8] = []
        Message.accept(question.id).encode(into: &frame)
        early.send(frame, settled: [question.id])
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
