import Synchronization
import TransferIO
import TransferModel
import TransferProtocol

/// What the server has of uploads that were interrupted, and what is made of its answers.
extension LaneUploads {
    func ask(_ split: any UploadInParts) {
        // Whoever gets it back goes on from there.
        split.whole.asked = split
        inFlight.add(split.whole)
        split.whole.begun.add(1, ordering: .relaxed)
        questions[split.whole.id] = PartsQuery(split)
    }

    /// - Returns: whose blocks are to be compared; nothing when nobody has asked, or not any more.
    func compares(_ have: Have) -> (any UploadInParts)? {
        questions[have.id]?.comparing += 1
        return questions[have.id]?.split
    }

    func compared(_ split: any UploadInParts, _ have: Have, _ compared: Result<UInt64, Failure>) {
        guard questions[have.id]?.split === split else { return }
        questions[have.id]?.comparing -= 1
        switch compared {
        case .success(let bytes):
            run.channel.send(
                .progress(
                    UploadProgress(
                        phase: .resuming, source: split.whole.label, bytes: bytes, size: split.knownSize)))
        case .failure(let failure): questions[have.id]?.failure = failure
        }
        conclude(have.id)
    }

    /// Hands out what the server does not have, once that is known.
    func conclude(_ id: UploadID) {
        guard let question = questions[id], question.isConcluded else { return }
        questions[id] = nil
        _ = inFlight.remove(id)
        do throws(Failure) {
            if let failure = question.failure { throw failure }
            if let end = try question.split.answered() {
                run.feed.putBack([end])
            } else {
                run.feed.add(question.split)
            }
        } catch {
            report(question.split.whole, of: question.split) { .failed($0, error) }
        }
        question.split.whole.asked = nil
        news.tell()
    }
}
