import TransferModel
import TransferProtocol
import TransferSystem

/// Asks for the version of a delivery's file: it requests the content, and cancels when the answer begins.
final class PullProbe: AnswerTaker {
    private let file: PullFile
    private let plan: PullPlan
    /// The reason why the file cannot be fetched.
    private let failure = Locked<Failure?>(nil)

    init(_ file: PullFile, _ plan: PullPlan) {
        (self.file, self.plan) = (file, plan)
    }

    var asked: PendingRequest { PendingRequest(file.request(plan.context), self) }

    func begin(_ found: FetchedFile) -> Taken {
        if found.size == file.entry.size {
            file.version = found.version
        } else {
            failure.withLock { $0 = .otherSize }
        }
        return .unwanted
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Taken { .unwanted }

    func check(_ block: BlockDigest) -> Taken { .unwanted }

    func end(_ end: End) { conclude(.connectionLost) }

    func end(_ outcome: Outcome) { conclude(Failure(outcome.code, outcome.message)) }

    func lost() { plan.again(.file(file)) }

    /// - Parameter local: the failure if the server has not begun to send the content.
    private func conclude(_ local: Failure) {
        if let failure = failure.withLock({ $0 }) { return plan.retry(file, failure) }
        if file.version == nil { plan.retry(file, local) } else { plan.again(.file(file)) }
    }
}

extension Failure {
    static let otherSize = Failure(
        .sizeMismatch, "The server's file has another size than it listed.")

    static let otherThanListed = Failure(
        .digestMismatch,
        "The content differs from the digest that the server listed. It is not acknowledged, and the "
            + "stored part cannot be trusted."
    )
}
