internal import CLinux
import Glibc
import TransferModel
import TransferSystem

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
        guard !skipped.finds(path, look.known), asksAgain || !isKnown(path, look) else { return files.vanished(path) }
        if files.noticed(path, look, hint, at: .now) == .keepsChanging { tellOfChanges(path) }
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
