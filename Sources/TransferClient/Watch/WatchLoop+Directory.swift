internal import CLinux
import Glibc
import TransferModel
import TransferSystem

extension WatchLoop {
    /// The directory's path in a form that can be opened.
    var root: String { directory.isEmpty ? "/" : directory }

    func lookAtRoot() {
        if !hasLooked, let obstacle = Self.obstacle(root) { return fail(.sourceUnreadable, obstacle) }
        hasLooked = true
        switch presence.looked(Self.root(root)) {
        case .none: break
        case .gone:
            files.clear()
            (folders, sources) = (nil, nil)
            schedule.stop()
            guard !options.endsWhenSent else { return fail(.sourceUnreadable, "There is no directory '\(root)'.") }
            events.send(.gone(directory: root))
        case .came: came()
        }
    }

    /// Why waiting for the directory is useless: the path has another kind of entry, such as a file that was meant to
    /// be pushed.
    private static func obstacle(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return nil }
        return "'\(path)' is \(FileType(mode: status.st_mode).description); give the directory that it is in."
    }

    private func came() {
        do throws(SystemError) {
            sources = try SourceRoot(directory, in: nil)
        } catch {
            // The directory was removed again, or this user may not enter it, which a scan reports.
            sources = nil
        }
        if let sources, let obstacle = moveTarget?.obstacle(from: sources) {
            guard hasScanned else { return fail(.targetFailed, obstacle) }
            events.send(.notice(obstacle))
        }
        files.clear()
        devices = WatchedDevices()
        schedule.isBlind = (try? sources?.opened()).map { devices.isRemote($0) } ?? false
        watchAnew()
        schedule.ask(at: .now)
        events.send(.watching(directory: root, known: journal?.known.count ?? known.count))
    }

    private func watchAnew() {
        folders = nil
        // A watch that ends after one scan needs no events.
        guard !options.endsWhenSent else { return }
        do throws(SystemError) {
            folders = try WatchedFolders()
        } catch {
            tellOfWatches("fs.inotify.max_user_instances", error)
        }
    }

    /// - Returns: nil if there is no directory.
    private static func root(_ path: String) -> RootPresence.Root? {
        var (status, parent) = (stat(), stat())
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        let isMountPoint = stat("\(path)/..", &parent) == 0 && parent.st_dev != status.st_dev
        return RootPresence.Root(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), isMountPoint: isMountPoint)
    }

    /// Notes that the kernel does not report all changes, so that scans have to find the rest. Says so once.
    func tellOfWatches(_ setting: String, _ error: SystemError) {
        schedule.isBlind = true
        guard !isToldOfWatches else { return }
        isToldOfWatches = true
        events.send(
            .notice(
                "The kernel does not report all changes (\(error)); the directory is scanned every "
                    + "\(Int(ScanSchedule.blind.seconds)) s instead. Raise \(setting) with sysctl(8)"))
    }

    func fail(_ code: ResultCode, _ message: String) {
        failure = TransferFailure(reason: .rejected(code), message: message)
    }
}
