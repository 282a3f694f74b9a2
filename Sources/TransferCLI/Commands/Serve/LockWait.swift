private import CLinux
private import Glibc
internal import TransferIO
private import TransferModel
private import TransferPorts
internal import TransferServer
internal import TransferStore
private import TransferSystem

/// Waits for the lock of a server's directory. This happens before the server takes anything that the other server
/// still needs, such as its address.
struct LockWait {
    /// The result of waiting for the lock.
    enum End {
        /// The lock is taken, and all addresses are bound. Both are passed to the server or to its supervisor.
        case taken(Int32, sockets: [ServerSocket])
        /// A signal has stopped the wait.
        case stopped
    }

    /// Signals that stop the wait.
    private static let endings = [SIGTERM, SIGINT, SIGHUP]

    /// Milliseconds between two attempts: NFS does not report that a lock is free, and a blocked call would poll only
    /// every 30 seconds.
    private static let interval: Int32 = 500

    /// Milliseconds between two attempts to bind an address that is in use, and nanoseconds until the last one. The kernel frees the
    /// lock of a killed server before the last process of that server has ended, which takes milliseconds.
    private static let bindInterval: Int32 = 20
    private static let bindPatience: Int64 = 10_000_000_000

    let configuration: ServerConfiguration
    let log: Log
    let notifier: ServiceNotifier?

    /// - Throws: `ServerError` if the lock is not reliable on the file system or cannot be opened, or if an address cannot be bound.
    func run() throws(ServerError) -> End {
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let signals = try queue()
        guard let lock = try takenLock(signals), let sockets = try bind(signals) else { return .stopped }
        return .taken(lock, sockets: sockets)
    }

    /// Waits until the lock is free, and takes it.
    ///
    /// - Returns: the lock's descriptor; nil if a signal has stopped the wait.
    private func takenLock(_ signals: borrowing SignalQueue) throws(ServerError) -> Int32? {
        do throws(Failure) {
            let lock = try DirectoryLock(ofDirectory: configuration.directory)
            let reach = try lock.reach()
            if let reason = obstacle(reach) { throw Failure(.storageFailed, reason) }
            if try !take(lock) {
                log.waiting(forLockOf: configuration.directory, holder: lock.holder)
                notifier?.ready("Waiting for the lock of \(configuration.directory.escapedForDisplay)")
                repeat {
                    if hasStopped(signals, within: Self.interval) { return nil }
                } while try !take(lock)
            }
            guard (try? lock.isHeld()) == true else {
                throw Failure(
                    .storageFailed,
                    "Cannot write to the lock of '\(configuration.directory.escapedForDisplay)'. Is its disk full?")
            }
            return try lock.passOn()
        } catch {
            throw ServerError(error.message)
        }
    }

    /// Binds the addresses of the server. A process of the other server may still have one for a moment.
    ///
    /// - Returns: nil if a signal has stopped the wait.
    private func bind(_ signals: borrowing SignalQueue) throws(ServerError) -> [ServerSocket]? {
        let end = monotonicNanoseconds() + Self.bindPatience
        var isStopped = false
        var reported: Endpoint?
        do throws(ServerError) {
            return try configuration.bind { address in
                if reported != address { log.waiting(forAddress: address.description) }
                reported = address
                isStopped = hasStopped(signals, within: Self.bindInterval)
                return !isStopped && monotonicNanoseconds() < end
            }
        } catch {
            guard isStopped else { throw error }
            return nil
        }
    }

    /// The reason why waiting for the lock is refused; nil if it is permitted.
    private func obstacle(_ reach: LockReach) -> String? {
        let shown = configuration.directory.escapedForDisplay
        switch reach {
        case .unknown(let reason): return "--wait-for-lock cannot be used for '\(shown)': \(reason)."
        case .network where configuration.durability != .commit:
            return
                "--wait-for-lock on a network file system needs --durability commit: the other server "
                + "may not see what is not synced."
        case .network(isCoherent: false) where configuration.stateDirectory == nil:
            return
                "The catalog must not be on the file system of '\(shown)'. Name a folder on a local disk "
                + "with --state-dir."
        case .machine, .network: return nil
        }
    }

    /// Waits for a signal that stops the wait.
    ///
    /// - Parameter milliseconds: how long to wait at most.
    private func hasStopped(_ signals: borrowing SignalQueue, within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
        // The service manager's watchdog must not end the server during the wait.
        notifier?.alive()
        while let signal = signals.next() { if isEnd(signal) { return true } }
        return false
    }

    private func take(_ lock: DirectoryLock) throws(Failure) -> Bool {
        do throws(SystemError) {
            return try lock.take()
        } catch {
            let shown = configuration.directory.escapedForDisplay
            throw Failure(.storageFailed, "Cannot take the lock of '\(shown)': \(error.reason).")
        }
    }

    private func queue() throws(ServerError) -> SignalQueue {
        do throws(SystemError) {
            return try SignalQueue(Self.endings)
        } catch {
            throw ServerError("Cannot wait for signals: \(error).")
        }
    }

    /// Whether a signal stops the wait. SIGHUP from a closed terminal does. SIGHUP from a program asks the server to
    /// reread files, and it has not read any yet.
    private func isEnd(_ signal: SignalQueue.Arrival) -> Bool {
        signal.number != SIGHUP || !signal.isSent && !SignalQueue.isIgnored(SIGHUP)
    }
}

/// The flags of `serve` for a directory on a network file system.
enum ServeStorageFlags {
    static let all = [waitsForLock.flag] + effects.map(\.flag)

    static let effects: [FlagEffect<ServerConfiguration>] = [
        FlagEffect(state.flag) { arguments, configuration in configuration.stateDirectory = arguments[state] }
    ]

    static let waitsForLock = Flag(
        name: "wait-for-lock", help: "Wait while another server uses the directory, and take over when it ends.",
        details:
            "The second of two servers of one directory, on one machine or on two that have mounted its "
            + "file system, starts to listen when the first has ended or lost the directory. File systems "
            + "without reliable locks are refused. See docs/guide/server.md."
    ).isOn

    static let state = state(
        "Keep the catalog and the mailboxes in DIR.",
        details:
            "Needed for a directory on a network file system, where a database with a write-ahead log "
            + "must not be. DIR is on a local disk, is created if missing, and must be given at each "
            + "start. By default they are in .transfer.")

    /// - Parameter help: the sentence of the help, which differs between commands.
    static func state(_ help: String, details: String = "") -> FlagKey<String?, Never> {
        Flag(name: "state-dir", placeholder: "DIR", help: help, details: details, value: .folder).text
    }
}
