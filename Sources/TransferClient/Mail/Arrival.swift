import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore

/// A delivery whose content is durable on this machine.
struct Arrival: Sendable {
    let verified: VerifiedDelivery

    /// The report of the pull that stored it.
    let report: PullReport

    /// Whether a note on disk records this arrival already.
    let isNoted: Bool

    /// - Returns: nil if the stored content is not the listed content.
    init?(_ delivery: Delivery, _ report: PullReport, isNoted: Bool = false) {
        guard report.delivery == delivery.id, let size = report.travelled, let digest = report.digest,
            let verified = VerifiedDelivery(delivery, size: size, computed: digest, isOpened: report.isOpened)
        else { return nil }
        (self.verified, self.report, self.isNoted) = (verified, report, isNoted)
    }

    var delivery: Delivery { verified.delivery }

    /// The entry for the note on disk; nil if the file could not be examined.
    var file: ReceivedFile? {
        guard let path = report.path.flatMap({ try? RelativePath($0) }), let version = report.version else {
            return nil
        }
        let note = verified.seal == .signed ? delivery.noteDigest : nil
        return ReceivedFile(delivery.id, path, delivery.digest, travelled: delivery.size, version, note: note)
    }

    /// - Parameters:
    ///   - state: the state that the server knows.
    ///   - failure: why the server did not accept the report; nil if it did.
    func report(_ state: DeliveryState, failure: Outcome? = nil) -> ReceiveReport {
        var received = ReceiveReport(delivery, report, state)
        received.seal = verified.seal
        guard let failure, let path = report.path else { return received }
        received.result = failure.code
        received.message = "It is stored as \(path), but the server did not mark it as delivered: \(failure.message)"
        return received
    }
}

extension ReceiveReport {
    /// - Parameter state: the state that the server knows.
    init(_ delivery: Delivery, _ report: PullReport, _ state: DeliveryState) {
        self.init(
            delivery: delivery, result: report.result, path: report.path, state: state,
            size: report.path == nil ? delivery.shownSize : report.size, resumed: report.resumed,
            seconds: report.seconds, message: report.message)
    }

    /// The report of a delivery whose content was not requested.
    init(_ delivery: Delivery, _ result: ResultCode, _ message: String = "") {
        self.init(
            delivery: delivery, result: result, path: nil, state: delivery.state, size: delivery.shownSize,
            message: message)
    }
}
