internal import CLinux
import Glibc
import TransferModel
import TransferSystem

// MARK: The directory

extension WatchLoop {
    /// The path of the directory as it can be opened.
    var root: String { directory.isEmpty ? "/" : directory }

    func lookAtRoot() {
        switch presence.looked(Self.root(root)) {
        case .none: break
        case .gone:
            files.clear()
            folders = nil
            schedule.stop()
            guard !options.endsWhenSent else { return fail(.sourceUnreadable, "There is no directory '\(root)'.") }
            events.send(.gone(directory: root))
        case .came: came()
        }
    }

    private func came() {
        if let obstacle = moveTarget?.obstacle(from: root) {
            guard hasScanned else { return fail(.targetFailed, obstacle) }
            events.send(.notice(obstacle))
        }
        files.clear()
        schedule.isBlind = FileSystemKind.isRemote(root)
        watchAnew()
        schedule.ask(at: .now)
        events.send(.watching(directory: root, known: journal?.known.count ?? known.count))
    }

    private func watchAnew() {
        folders = nil
        // Once through, and nobody waits for more.
        guard !options.endsWhenSent else { return }
        do throws(SystemError) {
            folders = try WatchedFolders()
        } catch {
            tellOfWatches("fs.inotify.max_user_instances", error)
        }
    }

    /// - Returns: nothing where there is no directory.
    private static func root(_ path: String) -> RootPresence.Root? {
        var (status, parent) = (stat(), stat())
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        let isMountPoint = stat("\(path)/..", &parent) == 0 && parent.st_dev != status.st_dev
        return RootPresence.Root(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), isMountPoint: isMountPoint)
    }

    /// The kernel tells of less than all: scans have to find the rest.
    private func tellOfWatches(_ setting: String, _ error: SystemError) {
        schedule.isBlind = true
        guard !isToldOfWatches else { return }
        isToldOfWatches = true
        events.send(
            .notice(
                "The kernel does not tell of all changes (\(error)); the directory is looked through every "
                    + "\(Int(ScanSchedule.blind.seconds)) s instead. Raise \(setting) with sysctl(8)"))
    }

    func fail(_ code: ResultCode, _ message: String) {
        failure = PushFailure(reason: .rejected(code), message: message)
    }
}

// MARK: Events

extension WatchLoop {
    func takeEvents() {
        while folders != nil {
            do throws(SystemError) {
                guard let events = try folders?.next(), !events.isEmpty else { return }
                for event in events { take(event) }
            } catch {
                folders = nil
                tellOfWatches("fs.inotify.max_user_watches", error)
            }
        }
    }

    private func take(_ event: InotifyEvent) {
        switch event {
        case .overflow: schedule.ask(at: .now)
        case .ended(let watch): folders?.ended(watch)
        case .directoryLost(let watch):
            if folders?[watch]?.relative.isEmpty ?? false { doubtPresence() }
        case .entry(let watch, let kind, let isDirectory, let bytes):
            guard let folder = folders?[watch], let name = String(validating: bytes, as: UTF8.self) else { return }
            let relative = folder.relative.isEmpty ? name : "\(folder.relative)/\(name)"
            if isDirectory {
                take(kind, folder: relative, name, watch)
            } else {
                take(kind, file: relative, name, watch, in: folder.relative)
            }
        }
    }

    private func take(_ kind: InotifyEvent.Kind, folder relative: String, _ name: String, _ watch: Int32) {
        switch kind {
        case .movedAway: folders?.endAll(below: relative)
        case .created, .complete:
            let parent = OwnFile.folder(of: "\(directory)/\(relative)")
            guard !RelativePath.isReserved(name),
                let filter = folders?.filter(of: watch, in: parent, selection.ignoreFile)?.entering(name)
            else { return }
            // Of a directory with much in it the rest may come later; then its own events tell of it.
            _ = walk(relative, filter)
        }
    }

    private func take(
        _ kind: InotifyEvent.Kind, file relative: String, _ name: String, _ watch: Int32, in folder: String
    ) {
        if let ignoreFile = selection.ignoreFile, name.hasSameBytes(as: ignoreFile) {
            folders?.forgetFilters()
            schedule.ask(at: .now)
        }
        guard kind != .movedAway else { return files.vanished(PathKey(relative)) }
        let parent = folder.isEmpty ? root : "\(directory)/\(folder)"
        guard !RelativePath.isReserved(name), !SourceWitness.isName(name),
            folders?.filter(of: watch, in: parent, selection.ignoreFile)?.sends(name) ?? false
        else { return }
        notice(PathKey(relative), kind == .complete ? .complete : .begun)
    }

    /// There may be a file to send.
    func notice(_ path: PathKey, _ hint: SettlingFiles.Hint) {
        guard let status = Self.status("\(directory)/\(path.string)"), selection.accepts(status) else { return }
        let look = SourceFile.Identity(status)
        guard asksAgain || !isKnown(path, look) else { return files.vanished(path) }
        files.noticed(path, look, hint, at: .now)
    }

    /// Who removes or moves what is acknowledged asks about everything that is there: perhaps it was killed in between.
    private var asksAgain: Bool { options.afterwards != .stays }

    private func isKnown(_ path: PathKey, _ look: SettlingFiles.Look) -> Bool {
        journal?.finds(path, look.known) ?? known.finds(path, look.known)
    }

    /// - Returns: nothing where there is no file.
    static func status(_ path: String) -> stat? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status
    }
}

// MARK: Scans

extension WatchLoop {
    /// Looks through the whole directory.
    func scan() {
        let began = MonotonicTime.now
        folders?.beginScan()
        journal?.beginScan()
        known.beginScan()
        let isComplete = walk("", WalkFilter(selection))
        if isComplete {
            folders?.endScan()
            try? journal?.endScan()
        }
        hasScanned = true
        schedule.ended(began: began, at: .now, isComplete: isComplete)
    }

    /// Looks through a directory of it, and watches that.
    ///
    /// - Returns: whether all of it could be read.
    func walk(_ relative: String, _ filter: WalkFilter) -> Bool {
        var isComplete = true
        let path = relative.isEmpty ? root : "\(directory)/\(relative)"
        let prefix = directory.utf8.count + 1
        func below(_ path: String) -> String { String(decoding: path.utf8.dropFirst(prefix), as: UTF8.self) }
        var walk = DirectoryWalk(path: path, relative: relative, selection: selection, filter) { path, _, filter in
            self.watch(path, below(path), filter)
        }
        while !isStopping, let found = walk.next() {
            switch found {
            case .file(let path, _): notice(PathKey(below(path)), .complete)
            case .skipped(let path, _, let failure) where failure.code == .sourceUnreadable:
                isComplete = false
                hold(path, failure.message)
            case .skipped: break
            }
        }
        return isComplete && !isStopping
    }

    private func watch(_ path: String, _ relative: String, _ filter: WalkFilter) {
        do throws(SystemError) {
            try folders?.add(path, relative, filter)
        } catch {
            // What is gone, or cannot be read, is no want of watches.
            guard [ENOSPC, ENOMEM].contains(error.errno) else { return }
            tellOfWatches("fs.inotify.max_user_watches", error)
        }
    }

    /// Looks at a file that is due.
    func look(at path: PathKey) {
        let status = Self.status("\(directory)/\(path.string)").flatMap { selection.accepts($0) ? $0 : nil }
        let look = status.map { SettlingFiles.Look($0) }
        guard files.looked(path, look, at: .now) == .keepsChanging else { return }
        hold("\(directory)/\(path.string)", "It keeps changing; it is sent when it rests.")
        if options.endsWhenSent { files.vanished(path) }
    }

    /// Tells of something that is not sent for now, once.
    func hold(_ source: String, _ reason: String) {
        if held.count >= Self.mostHeld { held = [] }
        guard held.insert(PathKey("\(source)\n\(reason)")).inserted else { return }
        events.send(.held(source: source, reason: reason))
    }

    /// More are told again.
    private static let mostHeld = 10_000
}
