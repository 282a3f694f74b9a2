internal import CLinux
import Glibc
import TransferIO
import TransferModel
import TransferSystem

/// A watch of one directory: a thread that waits for the kernel, for the clock and for news of its push, and asks the
/// values of `Core` what to do. Everything but `stop` is only used on that thread.
///
/// `@unchecked Sendable`: `start` gives it to its thread, and `stop` only touches what is safe for all.
final class WatchLoop: @unchecked Sendable {
    let directory: String
    let options: WatchOptions
    let selection: Selection
    let events: EventQueue<WatchEvent>
    let sender: WatchSender
    let wake: WakeUp
    let moveTarget: MoveTarget?
    /// Recognizes what the server stores in.
    let places: ServerPlaces?
    /// Of names that removals give.
    let witnesses: WitnessKey
    private let isStopped = Locked(false)

    var files: SettlingFiles
    var schedule = ScanSchedule()
    var presence = RootPresence()
    var outage: Outage
    /// Draws pauses. It has no bytes, and as a local variable no address: the thread sanitizer notes accesses to it at one that is no
    /// memory.
    var generator = SystemRandomNumberGenerator()
    /// Nothing where what was acknowledged is kept nowhere.
    var journal: WatchJournal?
    /// The same in memory, where there is no journal.
    var known = KnownFiles()
    /// What was answered and stays here whatever is done with the rest, so that the server is asked once.
    var skipped = KnownFiles()
    /// Nothing where the kernel gives none.
    var folders: WatchedFolders?
    /// The watched directory, as the last look at its path found it. It is nil while the directory is missing.
    var sources: SourceRoot?
    /// File systems that the directory and what is below it are on.
    var devices = WatchedDevices()
    var isSending = false
    /// Whether the server was asked for anything so far: an address that is wrong is to be seen before there is a file.
    var hasAsked = false
    var failure: TransferFailure?
    /// What was told to be held back, so that it is told once.
    var held: Set<PathKey> = []
    var isToldOfWatches = false
    var isToldOfJournal = false
    var hasScanned = false
    /// Whether it was looked for the directory so far.
    var hasLooked = false
    /// When the directory is looked at again, whether it is there.
    private var nextPresence = MonotonicTime(nanoseconds: .min)

    /// A card that is put in or taken out is noticed that soon.
    private static let presencePause = Interval.seconds(2)

    /// Files that are looked at before news and events are.
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

    /// Begins, on a thread of its own.
    func start() {
        do throws(SystemError) {
            try startThread(name: "transfer-watch") { self.run() }
        } catch {
            events.finish(.failure(TransferFailure(reason: .unsupported, message: "Cannot start a thread: \(error).")))
        }
    }

    /// Ends it when what is acknowledged is remembered. Any thread may call it.
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

    /// One turn: what has come, and what is due.
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

    /// A card may have been taken out since the last look, and the empty directory that it leaves is none of its
    /// folders.
    private func scanIfPresent() {
        lookForDirectory()
        if presence.isPresent, schedule.isDue(.now) { scan() }
    }

    /// The directory may have gone just now.
    func lookForDirectorySoon() {
        nextPresence = MonotonicTime(nanoseconds: .min)
    }

    // MARK: Waiting

    private func wait() {
        var waiting = [pollfd(fd: wake.number, events: Int16(POLLIN), revents: 0)]
        if let folders { waiting.append(pollfd(fd: folders.number, events: Int16(POLLIN), revents: 0)) }
        _ = poll(&waiting, nfds_t(waiting.count), Self.milliseconds(until: deadline))
    }

    /// When something is due without a call.
    private var deadline: MonotonicTime {
        guard !isStopping, failure == nil else { return MonotonicTime(nanoseconds: .max) }
        var deadline = nextPresence
        if presence.isPresent, let next = schedule.next { deadline = min(deadline, next) }
        if let next = files.nextLook { deadline = min(deadline, next) }
        if !isSending, !events.isFull, let next = outage.nextTry { deadline = min(deadline, next) }
        return deadline
    }

    /// Rounded up: too early would be once more for nothing.
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
    /// Reads before news and looks have their turn; a directory in which much happens is not to hold them up.
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
            // Of a directory with much in it the rest may come later; then its own events tell of it.
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

    /// There may be a file to send.
    ///
    /// - Parameter status: what is there; nil to look.
    func notice(_ path: PathKey, _ hint: SettlingFiles.Hint, _ status: stat? = nil) {
        guard let status = status ?? self.status(path), selection.accepts(status) else { return }
        let look = SourceFile.Identity(status)
        guard !skipped.finds(path, look.known), asksAgain || !isKnown(path, look) else { return files.vanished(path) }
        if files.noticed(path, look, hint, at: .now) == .keepsChanging { tellOfChanges(path) }
    }

    /// Who removes or moves what is acknowledged asks about everything that is there: perhaps it was killed in between.
    private var asksAgain: Bool { options.afterwards != .stays }

    private func isKnown(_ path: PathKey, _ look: SettlingFiles.Look) -> Bool {
        journal?.finds(path, look.known) ?? known.finds(path, look.known)
    }

    /// - Parameter path: below the directory.
    /// - Returns: nil where there is no file.
    func status(_ path: PathKey) -> stat? {
        guard let sources, let status = try? SourcePlace(path.string, below: sources).status(),
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return status
    }
}

extension WatchLoop {
    /// - Returns: nothing where none is wanted.
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
                    "Cannot keep in '\(path)' what was acknowledged: \(error). Make room, or see that this user may "
                    + "write there.")
        }
    }
}
