internal import CLinux
internal import Glibc
internal import TransferServer
private import TransferSystem

/// What of supervising a server this process does. `transfer serve` starts itself once more as its worker, so that the
/// worker begins as clean as any program, and a process that holds no more than sockets stays behind.
enum Supervision {
    /// What the worker of a supervisor was told; nothing in any other process.
    static let orders = WorkerOrders.take()

    /// Supervises a server until it ends, if that is what this process is for.
    ///
    /// - Returns: the code to exit with; nothing in a worker, and where nothing is to be supervised.
    static func run() -> Int32? {
        if let orders {
            obey(orders)
            return nil
        }
        // What is wrong with the arguments is said by whoever would serve.
        let words = Array(CommandLine.arguments.dropFirst())
        guard case .run(let arguments)? = try? Invocation(words, sources: Environment.sources),
            arguments.command == ServeCommand.definition, !arguments[ServeFlags.isAlone],
            let command = try? ServeCommand(arguments)
        else { return nil }
        return command.supervise()
    }

    /// A worker ends with its supervisor, and leaves a report when a signal ends it.
    private static func obey(_ orders: WorkerOrders) {
        clinux_end_with_parent(SIGKILL)
        // It may have ended before that.
        guard getppid() == orders.supervisor else { _exit(ExitCode.fault.rawValue) }
        // Otherwise tools would show the name of the link that it was started by.
        clinux_set_thread_name("transfer")
        // In a process group of its own it is in no terminal's foreground; it may write there all the same.
        signal(SIGTTOU, SIG_IGN)
        _ = fcntl(orders.report, F_SETFD, FD_CLOEXEC)
        // Without one its end is reported all the same, and where it was isn't.
        try? CrashHandler.install(writingTo: orders.report)
    }
}
