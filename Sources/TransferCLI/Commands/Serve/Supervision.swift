internal import CLinux
internal import Glibc
internal import TransferServer
private import TransferSystem

/// The role of this process in supervision. `transfer serve` starts itself again as a worker. So a worker is always a
/// fresh program, and the supervisor holds little more than sockets.
enum Supervision {
    /// The orders that a worker has from its supervisor; nil in other processes.
    static let orders = WorkerOrders.take()

    /// Supervises a server until it ends, if this process is its supervisor.
    ///
    /// - Returns: the exit code; nil in a worker, and with `--no-supervise`.
    static func run() -> Int32? {
        if let orders {
            obey(orders)
            return nil
        }
        // If the arguments have faults, the code that serves reports them.
        let words = Array(CommandLine.arguments.dropFirst())
        guard case .run(let arguments)? = try? Invocation(words, sources: Environment.sources),
            arguments.command == ServeCommand.definition, !arguments[ServeFlags.isAlone],
            let command = try? ServeCommand(arguments)
        else { return nil }
        return command.supervise()
    }

    /// Sets up a worker: it ends with its supervisor, and writes a report if a signal kills it.
    private static func obey(_ orders: WorkerOrders) {
        clinux_end_with_parent(SIGKILL)
        // The supervisor may have ended before the call above.
        guard getppid() == orders.supervisor else { _exit(ExitCode.fault.rawValue) }
        // Without this, tools would show the name of the link by which the worker was started.
        clinux_set_thread_name("transfer")
        // Because it has its own process group, the worker is in the background of the terminal. It must still be able
        // to write to the terminal.
        signal(SIGTTOU, SIG_IGN)
        _ = fcntl(orders.report, F_SETFD, FD_CLOEXEC)
        // If the handler cannot be installed, a crash is still reported, but without its place in the code.
        try? CrashHandler.install(writingTo: orders.report)
    }
}
