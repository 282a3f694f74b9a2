import Synchronization
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// A client's question, as long as it is being answered.
enum OpenQuestion {
    /// What there is of an upload.
    case presence(OpenQuery)

    /// What was acknowledged of uploads, the rest of them.
    case lookup(Lookup)
}

/// A client's question what there is of an upload.
struct OpenQuery {
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
extension UploadWorker {
    /// Begins to answer with the blocks that are there, and `accept`; or answers with a result.
    func resume(_ begin: Begin) {
        switch intake.have(UploadIntent(begin, of: intake.caller)) {
        case .ended(let upload, let outcome): uploads.settle(upload, outcome)
        case .query(let query): question = .presence(OpenQuery(query, begin.id))
        }
    }

    /// Reads on for the open question: some blocks or files for each call, because others wait.
    func goOnAnswering() {
        switch question.take() {
        case .presence(let open): goOn(with: open)
        case .lookup(let lookup):
            guard !isEnding.load(ordering: .relaxed), intake.sender?.isGone() != true else { return }
            question = answer(lookup).map { .lookup($0) }
        case nil: return
        }
    }

    /// With all threads only where nobody waits, and no further than the first blocks for a client that has gone.
    private func goOn(with open: OpenQuery) {
        var open = open
        do throws(Failure) {
            guard !isEnding.load(ordering: .relaxed), open.query.count == 0 || intake.sender?.isGone() != true else {
                return
            }
            let threads = resources.pool.isContended ? 1 : resources.digestThreads
            guard let blocks = try open.query.step(threads: threads) else { return end(open) }
            var frames: [UInt8] = []
            for block in blocks { open.report.add(block.index, block.digest, to: &frames) }
            open.report.finish(to: &frames)
            early.send(frames)
            question = .presence(open)
        } catch {
            uploads.settle(open.query.upload, .refused(error, size: 0))
        }
    }

    private func end(_ open: OpenQuery) {
        let query = open.query
        if query.count > 0, query.isFirst {
            uploads.events.append(.resumed(query.upload.intent, blocks: query.count, peer: uploads.peer))
        }
        var frame: [UInt8] = []
        Message.accept(open.id).encode(into: &frame)
        early.send(frame, settled: [open.id])
    }
}
