internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// The access lists in the server's own folder: `authorized_keys`, `tokens` and the lock for changing them.
package final class AccessFolder: Sendable {
    /// Path of the folder, `DIR/.transfer`.
    package let path: String

    private let watchedKeys = Locked(WatchedList<AuthorizedKey>(AccessFolder.keysName))
    private let watchedTokens = Locked(WatchedList<AccessToken>(AccessFolder.tokensName))

    /// - Parameter directory: the directory in which the server stores uploads.
    package init(of directory: String) {
        path = "\(directory)/\(RelativePath.reservedName)"
    }

    package static let keysName = "authorized_keys"
    package static let tokensName = "tokens"
    private static let lockName = "access.lock"

    /// Creates the folder if it does not exist, as a server does at its first start. It is created only in an empty
    /// directory, which can become a server's: in another one, the folder would hide that the wrong directory was
    /// given.
    ///
    /// - Throws: a sentence for the operator.
    package func make() throws(AccessFault) {
        guard access(path, F_OK) != 0 else { return }
        guard isDirectoryEmpty else { throw notUsed }
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        let reason = SystemError(errno: errno, call: "mkdir").reason
        throw AccessFault("'\(path.escapedForDisplay)' cannot be created: \(reason). Is that a server's directory?")
    }

    /// - Throws: a sentence if no server has used the directory.
    package func requireUsed() throws(AccessFault) {
        guard access(path, F_OK) != 0 else { return }
        throw notUsed
    }

    private var directory: String { String(path.dropLast(RelativePath.reservedName.count + 1)) }

    private var notUsed: AccessFault {
        AccessFault(
            "No server has used '\(directory.escapedForDisplay)'. Give the directory of the server with --dir, or start "
                + "one there first: transfer serve --dir DIR.")
    }

    /// True also if the directory cannot be read, because creating the folder then reports the reason.
    private var isDirectoryEmpty: Bool {
        guard let stream = opendir(directory) else { return true }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            // File systems create `lost+found` themselves.
            if ![".", "..", "lost+found"].contains(name) { return false }
        }
        return true
    }

    package func path(_ name: String) -> String { "\(path)/\(name)" }
}

extension AccessFolder: AccessLists {
    package var keys: CurrentList<AuthorizedKey> { watchedKeys.withLock { $0.refresh(from: self) } }

    package var tokens: CurrentList<AccessToken> { watchedTokens.withLock { $0.refresh(from: self) } }

    /// Reads a list; it is empty if the file does not exist.
    func read<Entry>(_ name: String, of type: Entry.Type, revision: Int) -> CurrentList<Entry> {
        do throws(AccessFault) {
            return CurrentList(name, try list(name, of: type), revision: revision)
        } catch {
            return CurrentList(name, AccessList(), revision: revision, fault: error)
        }
    }

    /// - Throws: a sentence for the log. A server that cannot read a list refuses all clients in it.
    private func list<Entry>(_ name: String, of type: Entry.Type) throws(AccessFault) -> AccessList<Entry> {
        let path = path(name)
        let shown = path.escapedForDisplay
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path, atMost: AccessList<Entry>.longest)
        } catch {
            throw AccessFault("'\(shown)' cannot be read, so it admits no client: \(error.reason).")
        }
        guard let file else { return AccessList() }
        guard file.isGuarded else {
            throw AccessFault(
                "'\(shown)' can be written by other users, so it admits no client. Check its entries, "
                    + "then make it yours alone: chmod 600.")
        }
        guard !file.isLonger else {
            throw AccessFault("'\(shown)' is longer than \(AccessList<Entry>.longest) bytes, so it admits no client.")
        }
        return AccessList(file.content)
    }

    package func edit<Result>(
        _ body: (any AccessEditing) throws(AccessFault) -> Result
    ) throws(AccessFault) -> Result {
        let lock: Int32
        do throws(SystemError) {
            let path = path(Self.lockName)
            let flags = O_RDWR | O_CREAT | O_CLOEXEC | clinux_o_nofollow
            lock = try system("open") { clinux_openat(AT_FDCWD, path, flags, 0o600) }
        } catch {
            throw AccessFault("'\(path.escapedForDisplay)' cannot be changed: \(error.reason).")
        }
        let file = Descriptor(lock)
        do throws(SystemError) {
            try system("flock") { flock(file.number, LOCK_EX) }
        } catch {
            throw AccessFault("'\(path.escapedForDisplay)' cannot be locked: \(error.reason).")
        }
        return try body(Editing(folder: self))
    }

    /// The lists' files during an edit, while they are locked.
    private struct Editing: AccessEditing {
        let folder: AccessFolder

        func change<Result>(
            keys body: (inout AuthorizedKeys) throws(AccessFault) -> Result
        ) throws(AccessFault) -> Result { try change(AccessFolder.keysName, body) }

        func change<Result>(
            tokens body: (inout AccessTokens) throws(AccessFault) -> Result
        ) throws(AccessFault) -> Result { try change(AccessFolder.tokensName, body) }

        /// Changes one list. The file is replaced atomically, so that a server reads the old or the new one. If `body`
        /// does not change the list, the file is not written.
        private func change<Entry, Result>(
            _ name: String, _ body: (inout AccessList<Entry>) throws(AccessFault) -> Result
        ) throws(AccessFault) -> Result {
            var list = try folder.list(name, of: Entry.self)
            let before = list.content
            let result = try body(&list)
            guard list.content != before else { return result }
            do throws(SystemError) {
                _ = try OwnFile.write(list.content, to: folder.path(name), replaces: true)
            } catch {
                throw AccessFault("'\(folder.path(name).escapedForDisplay)' cannot be written: \(error.reason).")
            }
            return result
        }
    }
}
