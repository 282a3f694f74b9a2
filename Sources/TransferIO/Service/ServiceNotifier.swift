internal import CLinux
import Glibc
package import TransferSystem

/// Reports the state of the process to the service manager (sd_notify(3)). Each message is one datagram to the socket
/// that the environment names. Sending never blocks, and a message that cannot be sent is lost.
package final class ServiceNotifier: Sendable {
    /// The variables that a service manager sets.
    private static let socketVariable = "NOTIFY_SOCKET"
    private static let watchdogVariable = (microseconds: "WATCHDOG_USEC", process: "WATCHDOG_PID")

    /// Nanoseconds between calls of `alive`: half of the manager's interval; nil if the manager has no watchdog for
    /// this process (sd_watchdog_enabled(3)).
    package let watchdogInterval: Int64?

    private let number: Int32

    /// Connects to the manager's socket. Must be called before the process confines itself.
    ///
    /// - Parameter variable: reads a variable of the environment.
    /// - Returns: nil if there is no manager.
    /// - Throws: an error if the socket cannot be reached.
    package convenience init?(_ variable: (String) -> String?) throws(SystemError) {
        guard let name = variable(Self.socketVariable) else { return nil }
        guard let address = SocketAddress(notificationSocket: name) else {
            throw SystemError(errno: EAFNOSUPPORT, call: "connect")
        }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Descriptor(try system("socket") { Glibc.socket(AF_UNIX, type, 0) })
        let number = socket.number
        try system("connect") { address.withPointer { connect(number, $0, $1) } }
        self.init(socket.release(), watchdogInterval: Self.watchdogInterval(variable, process: getpid()))
    }

    /// Sends all messages to a parent process, which passes them on to the manager.
    ///
    /// - Parameters:
    ///   - descriptor: socket to the parent; the notifier takes ownership.
    ///   - process: ID of the process that the manager watches.
    package convenience init(relayedBy descriptor: Int32, for process: Int32, _ variable: (String) -> String?) {
        self.init(descriptor, watchdogInterval: Self.watchdogInterval(variable, process: process))
    }

    private init(_ descriptor: Int32, watchdogInterval: Int64?) {
        number = descriptor
        self.watchdogInterval = watchdogInterval
    }

    deinit {
        close(number)
    }

    private static func watchdogInterval(_ variable: (String) -> String?, process: Int32) -> Int64? {
        if let watched = variable(watchdogVariable.process), watched != "\(process)" { return nil }
        guard let microseconds = variable(watchdogVariable.microseconds).flatMap({ Int64($0) }), microseconds > 0 else {
            return nil
        }
        let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : max(nanoseconds / 2, 1_000_000)
    }

    /// - Parameter status: a line for users.
    package func ready(_ status: String) { send(["READY=1", "STATUS=\(status)"]) }

    /// - Parameter status: a line for users.
    package func stopping(_ status: String) { send(["STOPPING=1", "STATUS=\(status)"]) }

    /// Reports the beginning of a reload; `ready` must follow.
    package func reloading() {
        // The manager distinguishes reloads by their time.
        send(["RELOADING=1", "MONOTONIC_USEC=\(monotonicNanoseconds() / 1000)"])
    }

    /// Keeps the watchdog from killing the process.
    package func alive() { send(["WATCHDOG=1"]) }

    private func send(_ fields: [String]) { send(Array(fields.joined(separator: "\n").utf8)[...]) }

    /// Sends a message that is already formatted.
    package func send(_ message: ArraySlice<UInt8>) {
        message.withUnsafeBytes { _ = Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
}

extension SocketAddress {
    /// Makes the address of a path, or of an abstract name after `@`.
    ///
    /// - Returns: nil for any other text, or for one that is too long.
    fileprivate init?(notificationSocket name: String) {
        guard name.utf8.count < Endpoint.longestUnixPath else { return nil }
        switch name.utf8.first {
        case UInt8(ascii: "/"): self.init(unixPath: name)
        case UInt8(ascii: "@"): self.init(abstractName: String(Substring(name.utf8.dropFirst())))
        default: return nil
        }
    }
}
