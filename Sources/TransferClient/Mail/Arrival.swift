import TransferModel
import TransferProtocol
import TransferStore

/// A delivery whose content is durable here.
struct Arrival: Sendable {
    let delivery: Delivery

    /// What was done to have it here.
    let report: PullReport

    /// Whether a note says that it is here.
    var isNoted = false

    /// What a note says of it; nothing where the file could not be looked at.
    var file: ReceivedFile? {
        guard let path = report.path.flatMap({ try? RelativePath($0) }), let version = report.version else {
            return nil
        }
        return ReceivedFile(delivery.id, path, delivery.digest, version)
    }

    /// - Parameters:
    ///   - state: what the server knows.
    ///   - failure: why it doesn't know better.
    func report(_ state: DeliveryState, failure: Outcome? = nil) -> ReceiveReport {
        var received = ReceiveReport(delivery, report, state)
        guard let failure, let path = report.path else { return received }
        received.result = failure.code
        received.message = "It is stored as \(path), and the server does not take it for delivered: \(failure.message)"
        return received
    }
}

extension ReceiveReport {
    /// - Parameter state: what the server knows.
    init(_ delivery: Delivery, _ report: PullReport, _ state: DeliveryState) {
        self.init(
            delivery: delivery, result: report.result, path: report.path, state: state,
            size: report.path == nil ? delivery.shownSize : report.size, resumed: report.resumed,
            seconds: report.seconds, message: report.message)
    }

    /// For what was not asked for.
    init(_ delivery: Delivery, _ result: ResultCode, _ message: String = "") {
        self.init(
            delivery: delivery, result: result, path: nil, state: delivery.state, size: delivery.shownSize,
            message: message)
    }
}
