import TransferProtocol
import TransferSystem

extension LogEvent {
    static func noStatus(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "noStatus", "'transfer status' will not reach this server: \(error)",
            [("message", .string(error.description))])
    }
}
