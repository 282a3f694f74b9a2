internal import CLinux
import Glibc
import Synchronization
package import TransferModel
import TransferPorts
package import TransferSystem

/// Keeps all servers but one out of a directory: flock(2) of a file in the server's own folder, in which the holder says who it is.
///
///     init ─→ take ─→ isHeld … ─→ release
package final class DirectoryLock: ScrubLock {
    static let name = "lock"

    /// Bytes of what a holder says at most: the name of a host has 64 (hostname(7)).
    private static let longestLine = 256

    let folder: DirectoryHandle
    private let file: Descriptor

    /// Whether the process has the file from another one, which has taken the lock and goes on holding it.
    private let isInherited: Bool

    private let isPassedOn = Atomic(false)

    /// What the holder has written, and no other one has.
    private let line = Locked<[UInt8]>([])

    /// - Parameters:
    ///   - folder: the server's own.
    ///   - descriptor: one of the file that this process has from another one, and that becomes the lock's. Nil opens the file.
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

    /// The lock of a directory that a server is to store in, which is made where it is missing.
    ///
    /// - Parameter path: of this machine; its parent must exist.
    /// - Throws: `storageFailed` where it cannot be opened, and where others may write in the server's own folder.
    package convenience init(ofDirectory path: String) throws(Failure) {
        let folder = try FileStore.openFolders(path, on: Disk(), syncs: true).own
        if let reason = OwnFolder.distrust(of: folder) { throw FileStore.cannotStore(in: path, reason) }
        do throws(SystemError) {
            try self.init(in: folder)
        } catch {
            throw FileStore.cannotStore(in: path, error.reason)
        }
    }

    /// A child that is being started has a copy of the descriptor, and the lock with it, until it executes its program.
    deinit {
        if !isPassedOn.load(ordering: .relaxed) { release() }
    }

    /// A second descriptor of the file, for a server of this process or of another one. The lock is free when both are closed.
    ///
    /// - Returns: the caller's to close.
    package func passOn() throws(Failure) -> Int32 {
        let number = file.number
        isPassedOn.store(true, ordering: .relaxed)
        return try attempt("pass the directory's lock on") { () throws(SystemError) in
            try system("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) }
        }
    }

    /// Takes the lock if no other server has it, and writes who has it, durably: another machine sees it at once.
    ///
    /// - Throws: where the file system cannot say whether it is free.
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
        // A machine that has lost the lock meanwhile gets it anew where it is free again, and finds what another holder has written.
        guard let said = Self.read(number), Self.isOfThisProcess(said) else { return false }
        line.withLock { $0 = said }
        return true
    }

    /// Whether the line is of this process or of the one that has started it.
    private static func isOfThisProcess(_ said: [UInt8]) -> Bool {
        let words = String(decoding: said, as: UTF8.self).split(separator: " ")
        return words.count == 4 && words[2] == BootID.current && ["\(getpid())", "\(getppid())"].contains(words[1])
    }

    /// Where it cannot be written, messages do not say who has the lock, and `isHeld` says no.
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

    /// Lets another server have it. A process that has the lock from another one leaves that to it: a worker that ends is followed by the
    /// next one.
    package func release() {
        if !isInherited { flock(file.number, LOCK_UN) }
    }

    /// Whether the file still says that this holder has it. On a file system of the network a machine loses its locks when the file server
    /// has not heard of it for some time, and does not notice; who has taken the lock since has written to the file.
    ///
    /// - Throws: where the file cannot be read now.
    package func isHeld() throws(SystemError) -> Bool {
        do throws(SystemError) {
            let now = try folder.openFile(Self.name, flags: O_RDONLY)
            guard let said = Self.read(now.number) else { throw SystemError(errno: EIO, call: "pread") }
            return line.withLock { $0 == said }
        } catch {
            // A file that is gone keeps out no other server.
            guard [ENOENT, ESTALE].contains(error.errno) else { throw error }
            return false
        }
    }

    /// Who has the lock, as the holder has said: "process 12 on host a"; nil where that cannot be read.
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
