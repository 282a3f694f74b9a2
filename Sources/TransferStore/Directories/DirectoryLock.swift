internal import CLinux
import Glibc
import Synchronization
package import TransferModel
import TransferPorts
package import TransferSystem

/// Lets one server at a time use a directory, by flock(2) on a file in the server's own folder. The holder writes its
/// host, process and boot id into the file.
///
///     init ─→ take ─→ isHeld … ─→ release
package final class DirectoryLock: ScrubLock {
    static let name = "lock"

    /// The most bytes that a holder writes: a host name has up to 64 (hostname(7)).
    private static let longestLine = 256

    let folder: DirectoryHandle
    private let file: Descriptor

    /// Whether the descriptor comes from another process, which has taken the lock and keeps holding it.
    private let isInherited: Bool

    private let isPassedOn = Atomic(false)

    /// The line that this holder has written, which is unique.
    private let line = Locked<[UInt8]>([])

    /// - Parameters:
    ///   - folder: the server's own folder.
    ///   - descriptor: a descriptor of the file that this process has received from another one, and that the lock
    ///     closes; nil to open the file.
    init(in folder: DirectoryHandle, inherited descriptor: Int32? = nil) throws(SystemError) {
        self.folder = folder
        isInherited = descriptor != nil
        if let descriptor {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            file = Descriptor(descriptor)
        } else {
            file = try folder.openFile(Self.name, flags: O_RDWR | O_CREAT, mode: 0o600)
        }
    }

    /// The lock of a directory that a server is to store in. The directory is created if it is missing.
    ///
    /// - Parameter path: a path on this machine; its parent must exist.
    /// - Throws: `storageFailed` if it cannot be opened, or if other users may write in the server's own folder.
    package convenience init(ofDirectory path: String) throws(Failure) {
        let folder = try FileStore.openFolders(path, on: Disk(), syncs: true).own
        if let reason = OwnFolder.distrust(of: folder) { throw FileStore.cannotStore(in: path, reason) }
        do throws(SystemError) {
            try self.init(in: folder)
        } catch {
            throw FileStore.cannotStore(in: path, error.reason)
        }
    }

    /// Unlocks explicitly: a child process that is being started has a copy of the descriptor, and so the lock, until
    /// it executes its program.
    deinit {
        if !isPassedOn.load(ordering: .relaxed) { release() }
    }

    /// A second descriptor of the file, for a server in this process or another one. The lock is free once both are
    /// closed.
    ///
    /// - Returns: a descriptor that the caller closes.
    package func passOn() throws(Failure) -> Int32 {
        let number = file.number
        isPassedOn.store(true, ordering: .relaxed)
        return try attempt("pass the directory's lock on") { () throws(SystemError) in
            try system("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) }
        }
    }

    /// Takes the lock if no other server has it, and durably writes who holds it: another machine sees that at once.
    ///
    /// - Throws: if the file system cannot determine whether the lock is free.
    package func take() throws(SystemError) -> Bool {
        let number = file.number
        do throws(SystemError) {
            try system("flock") { flock(number, LOCK_EX | LOCK_NB) }
        } catch {
            guard error.errno == EWOULDBLOCK else { throw error }
            return false
        }
        guard isInherited else {
            let said = write()
            line.withLock { $0 = said }
            return true
        }
        // A machine that has lost the lock meanwhile may get it again, and then finds the line of another holder.
        guard let said = Self.read(number), Self.isOfThisProcess(said) else { return false }
        line.withLock { $0 = said }
        return true
    }

    /// Whether the line was written by this process or its parent.
    private static func isOfThisProcess(_ said: [UInt8]) -> Bool {
        let words = String(decoding: said, as: UTF8.self).split(separator: " ")
        return words.count == 4 && words[2] == BootID.current && ["\(getpid())", "\(getppid())"].contains(words[1])
    }

    /// If the line cannot be written, messages do not name the holder, and `isHeld` returns false.
    private func write() -> [UInt8] {
        var name = utsname()
        uname(&name)
        let host = withUnsafeBytes(of: name.nodename) { Array($0.prefix { $0 > 0x20 }) }
        let said = host + Array(" \(getpid()) \(BootID.current) \(UInt64.random(in: .min ... .max))\n".utf8)
        let written = said.withUnsafeBytes { pwrite(file.number, $0.baseAddress, $0.count, 0) }
        if written == said.count { _ = ftruncate(file.number, off_t(said.count)) }
        _ = fdatasync(file.number)
        return said
    }

    /// Releases the lock. A process that has inherited the lock leaves that to its parent, which starts the next
    /// worker.
    package func release() {
        if !isInherited { flock(file.number, LOCK_UN) }
    }

    /// Whether the file still has this holder's line. On a network file system a machine loses its locks without notice
    /// if the file server has not heard from it for some time; the next holder has then written its own line.
    ///
    /// - Throws: if the file cannot be read now.
    package func isHeld() throws(SystemError) -> Bool {
        do throws(SystemError) {
            let now = try folder.openFile(Self.name, flags: O_RDONLY)
            guard let said = Self.read(now.number) else { throw SystemError(errno: EIO, call: "pread") }
            return line.withLock { $0 == said }
        } catch {
            // A file that was removed keeps out no other server.
            guard [ENOENT, ESTALE].contains(error.errno) else { throw error }
            return false
        }
    }

    /// The holder from the file's line, such as "process 12 on host a"; nil if it cannot be read.
    package var holder: String? {
        guard let said = Self.read(file.number), Self.isLine(said) else { return nil }
        let words = String(decoding: said, as: UTF8.self).split(separator: " ")
        return words.count >= 2 ? "process \(words[1]) on \(String(words[0]).escapedForDisplay)" : nil
    }

    private static func isLine(_ bytes: [UInt8]) -> Bool {
        bytes.count < longestLine && bytes.last == UInt8(ascii: "\n")
    }

    private static func read(_ file: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: longestLine)
        let count = pread(file, &bytes, bytes.count, 0)
        return count < 0 ? nil : Array(bytes[..<count])
    }
}
