import Synchronization
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// A client's question what there is of an upload, as long as it is being answered.
struct OpenQuestion {
    fileprivate var query: PresenceQuery
    fileprivate var report: BlockReport

    /// As the client knows it.
    fileprivate let id: UploadID

    fileprivate init(_ query: PresenceQuery, _ id: UploadID) {
        (self.query, self.id) = (query, id)
        report = BlockReport(id, query.upload.intent.function)
    }
}

/// What there is of an upload already.
extension UploadLane {
    /// Begins to answer with the blocks that are there, and `accept`; or answers with a result.
    func resume(_ begin: Begin) {
        switch intake.have(UploadIntent(begin, of: intake.caller)) {
        case .ended(let upload, let outcome): uploads.settle(upload, outcome)
        case .query(let query): question = OpenQuestion(query, begin.id)
        }
    }

    /// Reads on for the open question: some blocks for each call, because others wait, with all threads only where nobody
    /// does, and no further than the first of them for a client that has gone.
    func goOnAnswering() {
        guard var open = question.take() else { return }
        do throws(StoreError) {
            guard !isEnding.load(ordering: .relaxed), open.query.count == 0 || intake.sender?.isGone() != true else {
                return
            }
            let threads = resources.pool.isContended ? 1 : resources.digestThreads
            guard let blocks = try open.query.step(threads: threads) else { return end(open) }
            var frames: [UInt8] = []
            for block in blocks { open.report.add(block.index, block.digest, to: &frames) }
            open.report.finish(to: &frames)
            early.send(frames)
            question = open
        } catch {
            uploads.settle(open.query.upload, .refused(error, size: 0))
        }
    }

    private func end(_ question: OpenQuestion) {
        let query = question.query
        if query.count > 0, query.isFirst {
            uploads.events.append(.resumed(query.upload.intent, blocks: query.count, peer: uploads.peer))
        }
        var frame: [UInt8] = []
        Message.accept(question.id).encode(into: &frame)
        early.send(frame, settled: [question.id])
    }
}
