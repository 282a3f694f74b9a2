internal import CLinux
import Glibc
import TransferModel
import TransferSystem

extension WatchLoop {
    /// Scans the whole directory, unless the server stores in it.
    func scan() {
        let began = MonotonicTime.now
        if let refusal = places?.refusal(ofSource: root) {
            guard refusal == .servers else {
                hold(root, refusal.message)
                return schedule.ended(began: began, at: .now, isComplete: false)
            }
            failure = TransferFailure(
                reason: .rejected(refusal.code),
                message: "'\(directory.escapedForDisplay)' cannot be watched: the server stores in it, and "
                    + "would receive its own files again.")
            return
        }
        folders?.beginScan()
        journal?.beginScan()
        known.beginScan()
        skipped.beginScan()
        let isComplete = walk("", WalkFilter(selection))
        if isComplete {
            folders?.endScan()
            forgetUnseen()
        }
        hasScanned = true
        schedule.ended(began: began, at: .now, isComplete: isComplete)
    }

    private func forgetUnseen() {
        known.forgetUnseen()
        skipped.forgetUnseen()
        // If the journal cannot be shortened now, the next scan tries again.
        try? journal?.endScan()
    }

    /// Scans the directory or one below it, and watches every directory that it enters.
    ///
    /// - Returns: whether all of it could be read.
    func walk(_ relative: String, _ filter: WalkFilter) -> Bool {
        guard let sources else { return false }
        var isComplete = true
        var found = FoundFiles()
        let prefix = directory.utf8.count + 1
        func below(_ path: String) -> String { String(decoding: path.utf8.dropFirst(prefix), as: UTF8.self) }
        let sweep = options.afterwards == .isRemoved ? WitnessSweep(key: witnesses) : nil
        var walk = DirectoryWalk(
            SourcePlace(relative, below: sources), relative: relative, selection: selection, filter, sweep: sweep,
            places: places
        ) { directory, place, _, filter in self.watch(directory, below(place.path), filter) }
        while !isStopping, let next = walk.next() {
            switch next {
            case .file(let place, _):
                if let status = found.status(place) { notice(PathKey(below(place.path)), .found, status) }
            case .skipped(let path, _, let failure) where failure.code == .sourceUnreadable:
                if Self.mayComeBack(path) { isComplete = false }
                hold(path, failure.message)
            case .skipped(let path, _, let failure) where failure == .leftByRemoval: hold(path, failure.message)
            case .skipped(let path, _, let failure) where failure == .servers:
                if isNew(path, failure.message) { events.send(.notice("left out  \(path): \(failure.message)")) }
            case .link, .skipped: break
            }
        }
        return isComplete && !isStopping
    }

    /// Whether a path that could not be read may be readable soon: not if this user may not read the directory, and not
    /// if the path leads to no directory, for example because a name in it is invalid.
    private static func mayComeBack(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
        return access(path, R_OK | X_OK) == 0 || errno != EACCES
    }

    private func watch(_ directory: SourceDirectory, _ relative: String, _ filter: WalkFilter) {
        if devices.isRemote(directory) { schedule.isBlind = true }
        do throws(SystemError) {
            try folders?.add(directory, relative, filter)
        } catch {
            // The directory is open, so it is /proc that is missing.
            if error.errno == ENOENT { schedule.isBlind = true }
            // For other errors, more watches would not help.
            guard [ENOSPC, ENOMEM].contains(error.errno) else { return }
            tellOfWatches("fs.inotify.max_user_watches", error)
        }
    }

    /// Looks at a file that is due.
    func look(at path: PathKey) {
        let status = status(path).flatMap { selection.accepts($0) ? $0 : nil }
        let look = status.map { SettlingFiles.Look($0) }
        if files.looked(path, look, at: .now) == .keepsChanging { tellOfChanges(path) }
    }

    func tellOfChanges(_ path: PathKey) {
        hold("\(directory)/\(path.string)", "It keeps changing; it is sent when it stops changing.")
        if options.endsWhenSent { files.vanished(path) }
    }

    /// Reports that a file is not sent for now, once for each reason.
    func hold(_ source: String, _ reason: String) {
        if isNew(source, reason) { events.send(.held(source: source, reason: reason)) }
    }

    private func isNew(_ source: String, _ reason: String) -> Bool {
        if held.count >= Self.mostHeld { held = [] }
        return held.insert(PathKey("\(source)\n\(reason)")).inserted
    }

    /// The most reports that are remembered. When there are more, all are forgotten, and are made again.
    private static let mostHeld = 10_000
}

/// Reads the status of files, and opens each directory once if its files come together.
private struct FoundFiles {
    private var last: (folder: PathKey, directory: SourceDirectory)?

    /// - Returns: nil if there is no regular file any more.
    mutating func status(_ place: SourcePlace) -> stat? {
        let (folder, name) = place.split
        if last?.folder != PathKey(folder) {
            last = (try? place.parent().directory).map { (PathKey(folder), $0) }
        }
        guard let status = try? last?.directory.status(name), status.isFile else { return nil }
        return status
    }
}

extension stat {
    fileprivate var isFile: Bool { st_mode & S_IFMT == S_IFREG }
}
