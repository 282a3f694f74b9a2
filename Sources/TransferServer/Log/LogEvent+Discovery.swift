import TransferModel
import TransferSystem

extension LogEvent {
    static func discoverable(_ address: String, _ name: String) -> LogEvent {
        LogEvent(
            .info, "discoverable", "can be found as '\(name.escapedForDisplay)' at \(address) (UDP)",
            [("address", .string(address)), ("name", .string(name))])
    }

    static func notDiscoverable(_ message: String) -> LogEvent {
        LogEvent(
            .error, "notDiscoverable", "cannot be found until it is started again: \(message)",
            [("message", .string(message))])
    }

    /// - Parameter error: why the networks of this machine are not known.
    static func noNeighbours(_ error: SystemError) -> LogEvent {
        LogEvent(
            .warning, "noNeighbours",
            "nobody finds this server by an IPv4 broadcast: its networks cannot be looked up (\(error)); under systemd, allow "
                + "RestrictAddressFamilies=AF_NETLINK",
            [("message", .string(error.description))])
    }
}
