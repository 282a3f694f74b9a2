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
