internal import Glibc
private import TransferIO
private import TransferServer
private import TransferSystem

/// The supervisor's side of `transfer serve`.
extension ServeCommand {
    /// Binds the sockets, and supervises a worker that serves them.
    ///
    /// - Returns: the code to exit with.
    func supervise() -> Int32 {
        do throws(ServerError) {
            let notifier = try Self.notifier()
            var configuration = configuration
            guard try takeLock(for: &configuration, notifier) else { return ExitCode.success.rawValue }
            configuration.sockets += try SocketActivation.take().map { ServerSocket($0) }
            let sockets = try configuration.bind()
            return try run(sockets, notifier, lock: configuration.lock)
        } catch {
            StandardStream.error.write("transfer: \(error.message)\n")
            return ExitCode.fault.rawValue
        }
    }

    private func run(
        _ sockets: [ServerSocket], _ notifier: ServiceNotifier?, lock: Int32?
    ) throws(ServerError) -> Int32 {
        let end: Supervisor.End
        do throws(SystemError) {
            let relay = try notifier.map { (notifier) throws(SystemError) in try NotificationRelay(notifier) }
            var supervisor = try Supervisor(
                sockets: sockets, directory: configuration.directory, agent: configuration.agent, relay: relay,
                lock: lock, drainDelay: configuration.drainDelay)
            end = try supervisor.run()
        } catch {
            for socket in sockets { socket.socket.close() }
            throw ServerError("Cannot start the process that serves: \(error). --no-supervise does without it.")
        }
        switch end {
        case .exited(let code): return code
        case .stopped: return ExitCode.success.rawValue
        case .killed(let signal):
            throw ServerError("The server was ended by \(SignalName.of(signal)) while it was stopping.")
        }
    }
}
