import Glibc
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// How a client's sessions connect.
extension DrivenConnection {
    /// Connects, and starts the deadline of the handshake.
    ///
    /// - Parameter limit: the most time for connecting and the handshake together; nil for the normal deadline.
    /// - Returns: the reason of the failure; nil if there is a connection.
    func connect(
        to address: SocketAddress, _ timeouts: Liveness.Timeouts, within limit: Interval?
    ) async -> String? {
        var timeouts = timeouts
        if let limit { timeouts.handshake = min(timeouts.handshake, limit) }
        let began = MonotonicTime.now
        do throws(SystemError) {
            let socket = try StreamSocket(for: address, loop: loop, readable: driver.wake)
            driver.open(socket)
            guard !isEnding else { throw SystemError(errno: ECANCELED, call: "connect") }
            try await socket.connect(to: address, timeout: timeouts.handshake.nanoseconds)
        } catch {
            close()
            return error.reason
        }
        let now = MonotonicTime.now
        timeouts.handshake = Interval(nanoseconds: max(0, (began + timeouts.handshake - now).nanoseconds))
        driver.liveness = Liveness(timeouts, now: now)
        armTimer()
        return nil
    }

    /// Switches from the deadline of the handshake to those of an established connection.
    ///
    /// - Parameters:
    ///   - heartbeat: the server's heartbeat interval in milliseconds.
    ///   - silence: seconds after which a silent server is given up. Heartbeats are sent at least three times as often.
    func established(heartbeat: UInt32, silence: Double) {
        let heartbeatsInSilence = 3.0
        let longest = Interval.seconds(silence / heartbeatsInSilence)
        driver.liveness.timeouts.heartbeat = min(.milliseconds(Int64(max(1000, heartbeat))), longest)
        driver.liveness.established(now: .now)
        armTimer()
    }
}
