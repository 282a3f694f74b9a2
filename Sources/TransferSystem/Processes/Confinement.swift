internal import CLinux
import Glibc

/// Gives up, for the whole process and for ever, what it doesn't need once it has opened everything: files outside some
/// directories, new sockets, and privileges of other programs. The kernel holds it to that, whatever takes it over
/// (landlock(7), `no_new_privs` of prctl(2)).
package struct Confinement: ~Copyable {
    /// How far the kernel could help.
    package enum Outcome: Equatable, Sendable {
        /// By Landlock of that version, which says what it can restrict.
        case confined(version: Int)
        /// No new privileges, and that is all; the text says why.
        case unprivileged(String)
    }

    /// The first version that lets files be linked and renamed from one directory to another, which publishing does.
    private static let leastVersion = 2

    private let version: Int
    /// Nothing where there is an obstacle.
    private let rules: Int32?
    private let obstacle: String?

    /// Nothing is allowed yet, and nothing restricted.
    package init() {
        version = Int(clinux_landlock_version())
        let code = errno
        let rights = LandlockRights(version: version)
        guard version >= Self.leastVersion else {
            rules = nil
            obstacle = version > 0 ? "its Landlock has version \(version)" : Self.obstacle(code)
            return
        }
        let number = clinux_landlock_create(rights.files, rights.network, rights.scopes)
        obstacle = number >= 0 ? nil : String(cString: strerror(errno))
        rules = number >= 0 ? number : nil
    }

    deinit {
        if let rules { close(rules) }
    }

    /// Allows files and directories below a directory to be read, written, made and removed. Not to be executed, nor to be
    /// links or devices.
    ///
    /// - Parameter directory: open, in whatever way.
    package func allowFiles(below directory: Int32) throws(SystemError) {
        try allow(LandlockRights(version: version).storing, directory)
    }

    /// The same by its path.
    package func allowFiles(below path: String) throws(SystemError) {
        let directory = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, path, clinux_o_path | clinux_o_directory | O_CLOEXEC, 0) })
        try allowFiles(below: directory.number)
    }

    /// Allows files below a directory to be removed.
    package func allowRemoving(below path: String) throws(SystemError) {
        let directory = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, path, clinux_o_path | clinux_o_directory | O_CLOEXEC, 0) })
        try allow(LandlockRights.removing, directory.number)
    }

    /// Allows a file to be read, if it is there.
    ///
    /// - Parameter isReplaceable: whether that also goes for what may take its place: for all files below its folder, and
    ///   where it is a link, below that of the file that it leads to. Never for those below the root.
    package func allowReading(_ path: String, isReplaceable: Bool) throws(SystemError) {
        guard let resolved = realpath(path, nil) else { return }
        defer { free(resolved) }
        let file = String(cString: resolved)
        try allow(LandlockRights.readFile, at: file)
        guard isReplaceable else { return }
        for folder in [CanonicalPath(OwnFile.folder(of: path)).string, OwnFile.folder(of: file)] where folder != "/" {
            try allow(LandlockRights.readFile, at: folder)
        }
    }

    private func allow(_ rights: UInt64, at path: String) throws(SystemError) {
        let place = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, clinux_o_path | O_CLOEXEC, 0) })
        try allow(rights, place.number)
    }

    private func allow(_ rights: UInt64, _ directory: Int32) throws(SystemError) {
        guard let rules else { return }
        try system("landlock_add_rule") { clinux_landlock_allow(rules, directory, rights) }
    }

    /// Lets what the kernel says of processes be read. From time to time Dispatch, under Swift's concurrency, looks there
    /// whether its threads get on, and ends the process when it can't (libdispatch, src/event/workqueue.c).
    private func allowReadingOfThreads() throws(SystemError) {
        let processes = clinux_openat(AT_FDCWD, "/proc", clinux_o_path | clinux_o_directory | O_CLOEXEC, 0)
        guard processes >= 0 else { return }
        let directory = Descriptor(processes)
        try allow(LandlockRights.readFile, directory.number)
    }

    /// Confines every thread of the process, and with them all that will be started.
    ///
    /// - Throws: when some thread could not be; others may be.
    package func enforce() throws(SystemError) -> Outcome {
        try allowReadingOfThreads()
        try AllThreads.confine(rules ?? -1)
        return obstacle.map { .unprivileged($0) } ?? .confined(version: version)
    }

    private static func obstacle(_ code: Int32) -> String {
        switch code {
        case ENOSYS: "it has no Landlock"
        case EOPNOTSUPP: "its Landlock is turned off"
        default: String(cString: strerror(code))
        }
    }
}
