internal import CLinux
import Glibc
import TransferIO
import TransferModel
import TransferSystem

/// A watch of one directory: a thread that waits for the kernel, for the clock and for news of the push, and asks the
/// values of `Core` what to do. Everything except `stop` is used on that thread only.
///
/// `@unchecked Sendable`: `start` gives it to its thread, and `stop` uses only what is safe for all threads.
final class WatchLoop: @unchecked Sendable {
    let directory: String
    let options: WatchOptions
    let selection: Selection
    let events: EventQueue<WatchEvent>
    let sender: WatchSender
    let wake: WakeUp
    let moveTarget: MoveTarget?
    /// Recognizes folders that the server stores in.
    let places: ServerPlaces?
    /// Authenticates the names that removals give to files.
    let witnesses: WitnessKey
    private let isStopped = Locked(false)

    var files: SettlingFiles
    var schedule = ScanSchedule()
    var presence = RootPresence()
    var outage: Outage
    /// Draws the pauses between attempts. The system's generator is an empty type, and the thread sanitizer would record
    /// accesses to it at an address that is not memory.
    var generator = SecureRandom()
    /// Remembers acknowledged files on disk; nil if the options name no folder for it.
    var journal: WatchJournal?
    /// The same in memory, if there is no journal.
    var known = KnownFiles()
    /// Files that the server has skipped or not verified. They stay, and the server is asked about them once.
    var skipped = KnownFiles()
    /// The inotify watches; nil if the kernel gives none.
    var folders: WatchedFolders?
    /// The watched directory, as the last look at its path found it. It is nil while the directory is missing.
    var sources: SourceRoot?
    /// File systems of the directory and of those below it.
    var devices = WatchedDevices()
    var isSending = false
    /// Whether any push has begun. The first one begins before there is a file to send, so that a wrong address is
    /// reported.
    var hasAsked = false
    var failure: TransferFailure?
    /// Reports of files that are not sent for now, so that each is made once.
    var held: Set<PathKey> = []
    var isToldOfWatches = false
    var isToldOfJournal = false
    var hasScanned = false
    /// Whether any look at the directory's path was made.
    var hasLooked = false
    /// When the path of the directory is looked at again.
    private var nextPresence = MonotonicTime(nanoseconds: .min)

    /// Time between looks at the path, to notice a card that is inserted or removed.
    private static let presencePause = Interval.seconds(2)

    /// Files that are looked at in one turn.
    private static let looksAtOnce = 1024

    init(
        _ client: TransferClient, _ directory: String, _ options: WatchOptions, _ events: EventQueue<WatchEvent>
    ) throws(TransferFailure) {
        self.directory = Self.withoutSlashes(directory)
        self.options = options
        self.events = events
        (places, witnesses) = (client.places, client.sweptDirectories.key)
        if case .moves(let folder) = options.afterwards { moveTarget = MoveTarget(folder) } else { moveTarget = nil }
        selection = try options.selection(in: directory, without: moveTarget)
        do throws(SystemError) {
            wake = try WakeUp()
        } catch {
            throw TransferFailure(reason: .unsupported, message: "Cannot watch: \(error).")
        }
        sender = WatchSender(client, options.afterwards, moveTarget, self.directory, wake)
        files = SettlingFiles(settle: .seconds(options.settle))
        outage = Outage(retryFor: options.retryFor)
        journal = try Self.journal(options, self.directory, client.server)
    }

    /// Starts the watch on a separate thread.
    func start() {
        do throws(SystemError) {
            try startThread(name: "transfer-watch") { self.run() }
        } catch {
            events.finish(.failure(TransferFailure(reason: .unsupported, message: "Cannot start a thread: \(error).")))
        }
    }

    /// Ends the watch, after the files that were acknowledged are remembered. Any thread may call it.
    func stop() {
        isStopped.withLock { $0 = true }
        wake.call()
    }

    var isStopping: Bool { isStopped.withLock { $0 } }

    private func run() {
        events.connect(onRoom: { [wake] in wake.call() }, onCancel: { [weak self] in self?.stop() })
        while !isOver {
            if isStopping || failure != nil { sender.stop() }
            wait()
            turn()
        }
        events.finish(failure.map { .failure($0) } ?? .success(()))
    }

    private var isOver: Bool {
        guard !isSending else { return false }
        if isStopping || failure != nil { return true }
        return options.endsWhenSent && hasScanned && files.isIdle && hasAsked && !outage.isOn
    }

    /// One turn of the loop: takes news and events, and does what is due.
    private func turn() {
        wake.take()
        for news in sender.takeNews() { take(news) }
        guard !isStopping, failure == nil else { return }
        if nextPresence <= .now { lookForDirectory() }
        guard failure == nil else { return }
        takeEvents()
        if schedule.isDue(.now) { scanIfPresent() }
        for path in files.takeDue(.now, atMost: Self.looksAtOnce) { look(at: path) }
        sendIfPossible()
    }

    private func lookForDirectory() {
        nextPresence = .now + Self.presencePause
        lookAtRoot()
    }

    /// A card may have been removed since the last look: the empty directory on which it was mounted must not be
    /// scanned.
    private func scanIfPresent() {
        lookForDirectory()
        if presence.isPresent, schedule.isDue(.now) { scan() }
    }

    /// Lets the next turn look at the path, because the directory may just have been removed.
    func lookForDirectorySoon() {
        nextPresence = MonotonicTime(nanoseconds: .min)
    }

    // MARK: Waiting

    private func wait() {
        var waiting = [pollfd(fd: wake.number, events: Int16(POLLIN), revents: 0)]
        if let folders { waiting.append(pollfd(fd: folders.number, events: Int16(POLLIN), revents: 0)) }
        _ = poll(&waiting, nfds_t(waiting.count), Self.milliseconds(until: deadline))
    }

    /// The earliest time at which something is due.
    private var deadline: MonotonicTime {
        guard !isStopping, failure == nil else { return MonotonicTime(nanoseconds: .max) }
        var deadline = nextPresence
        if presence.isPresent, let next = schedule.next { deadline = min(deadline, next) }
        if let next = files.nextLook { deadline = min(deadline, next) }
        if !isSending, !events.isFull, let next = outage.nextTry { deadline = min(deadline, next) }
        return deadline
    }

    /// Rounded up: a thread that wakes too early would have to wait once more.
    private static func milliseconds(until time: MonotonicTime) -> Int32 {
        let rest = (time - .now).nanoseconds
        return rest <= 0 ? 0 : Int32(clamping: (rest - 1) / 1_000_000 + 1)
    }

    static func withoutSlashes(_ path: String) -> String {
        var bytes = Array(path.utf8)
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return bytes == [UInt8(ascii: "/")] ? "" : String(decoding: bytes, as: UTF8.self)
    }
}

extension WatchLoop {
    /// The most reads of inotify in one turn, so that a directory with many events does not delay news and looks.
    private static let readsAtOnce = 16

    func takeEvents() {
        for _ in 0..<Self.readsAtOnce {
            do throws(SystemError) {
                guard let events = try folders?.next(), !events.isEmpty else { return }
                for event in events { take(event) }
            } catch {
                folders = nil
                tellOfWatches("fs.inotify.max_queued_events", error)
            }
        }
    }

    private func take(_ event: InotifyEvent) {
        switch event {
        case .overflow: schedule.ask(at: .now)
        case .ended(let watch): folders?.ended(watch)
        case .directoryLost(let watch):
            guard folders?[watch]?.relative.isEmpty ?? false else { return }
            presence.lost()
            lookForDirectorySoon()
        case .entry(let watch, let kind, let isDirectory, let bytes):
            guard let folder = folders?[watch], let name = String(validating: bytes, as: UTF8.self) else { return }
            let relative = folder.relative.isEmpty ? name : "\(folder.relative)/\(name)"
            if isDirectory {
                take(kind, folder: relative, name, watch)
            } else {
                take(kind, file: relative, name, watch)
            }
        }
    }

    private func take(_ kind: InotifyEvent.Kind, folder relative: String, _ name: String, _ watch: Int32) {
        switch kind {
        case .movedAway: folders?.endAll(below: relative)
        case .created, .complete:
            guard !RelativePath.isReserved(name), let filter = filter(of: watch)?.entering(name)
            else { return }
            // Files that are made in the directory after this cause separate events.
            _ = walk(relative, filter)
        }
    }

    private func take(_ kind: InotifyEvent.Kind, file relative: String, _ name: String, _ watch: Int32) {
        if let ignoreFile = selection.ignoreFile, name.hasSameBytes(as: ignoreFile) {
            folders?.forgetFilters()
            schedule.ask(at: .now)
        }
        guard kind != .movedAway else { return files.vanished(PathKey(relative)) }
        guard !RelativePath.isReserved(name), !SourceWitness.isName(name), filter(of: watch)?.sends(name) ?? false
        else { return }
        notice(PathKey(relative), kind == .complete ? .complete : .begun)
    }

    private func filter(of watch: Int32) -> WalkFilter? {
        guard let sources else { return nil }
        return folders?.filter(of: watch, in: sources, selection.ignoreFile)
    }

    /// Notes that there may be a file to send.
    ///
    /// - Parameter status: the file's status; nil to read it.
    func notice(_ path: PathKey, _ hint: SettlingFiles.Hint, _ status: stat? = nil) {
        guard let status = status ?? self.status(path), selection.accepts(status) else { return }
        let look = SourceFile.Identity(status)
        guard !skipped.finds(path, look.known), asksAgain || !isKnown(path, look) else { return files.vanished(path) }
        if files.noticed(path, look, hint, at: .now) == .keepsChanging { tellOfChanges(path) }
    }

    /// Whether the server is asked again about acknowledged files. This is done if their sources are to be removed or
    /// moved, because a watch may have been killed before it did so.
    private var asksAgain: Bool { options.afterwards != .stays }

    private func isKnown(_ path: PathKey, _ look: SettlingFiles.Look) -> Bool {
        journal?.finds(path, look.known) ?? known.finds(path, look.known)
    }

    /// - Parameter path: the path below the directory.
    /// - Returns: nil if there is no regular file.
    func status(_ path: PathKey) -> stat? {
        guard let sources, let status = try? SourcePlace(path.string, below: sources).status(),
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return status
    }
}

extension WatchLoop {
    /// - Returns: nil if the options name no folder for journals.
    static func journal(
        _ options: WatchOptions, _ directory: String, _ server: ServerAddress
    ) throws(TransferFailure) -> WatchJournal? {
        guard let folder = options.journals else { return nil }
        let words = [directory.absolutePath, server.server, server.folder]
        let path = StateFolder(path: folder).file("watch", words)
        do throws(WatchJournal.Fault) {
            return try WatchJournal(path)
        } catch {
            throw failure(error, path, directory)
        }
    }

    private static func failure(_ fault: WatchJournal.Fault, _ path: String, _ directory: String) -> TransferFailure {
        switch fault {
        case .taken:
            TransferFailure(
                reason: .rejected(.busy),
                message: "Another 'transfer watch' of this user sends '\(directory)' to this server already.")
        case .failed(let error):
            TransferFailure(
                reason: .rejected(.targetFailed),
                message:
                    "Cannot save the list of acknowledged files in '\(path)': \(error). Free some "
                    + "space, or give this user write permission there.")
        }
    }
}
