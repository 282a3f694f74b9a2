import Glibc
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// What a client's sessions begin with.
extension DrivenConnection {
    /// Connects, and has the deadline of the handshake run from then on.
    ///
    /// - Parameter limit: what both may take together, where that is less than they always may.
    /// - Returns: why it could not; nothing when there is a connection.
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

    /// The server has answered; from here on other deadlines count.
    ///
    /// - Parameters:
    ///   - heartbeat: in milliseconds, as the server says.
    ///   - silence: seconds after which a silent server is given up: some pongs must have the time to come back.
    func established(heartbeat: UInt32, silence: Double) {
        let heartbeatsInSilence = 3.0
        let longest = Interval.seconds(silence / heartbeatsInSilence)
        driver.liveness.timeouts.heartbeat = min(.milliseconds(Int64(max(1000, heartbeat))), longest)
        driver.liveness.established(now: .now)
        armTimer()
    }
}
