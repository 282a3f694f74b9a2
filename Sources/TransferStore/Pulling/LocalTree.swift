internal import CLinux
import Glibc
import TransferCodec
package import TransferModel
package import TransferPorts
import TransferSystem

/// Reads a directory of this machine and everything in it without changing it. Symbolic links are listed and not
/// followed.
package struct LocalTree: Sendable {
    /// An entry of a folder.
    package enum Found: Sendable {
        case entry(WholeEntry)
        /// A name that cannot be in a path, made safe to show, and the reason.
        case unnameable(String, reason: String)
        /// A name that Transfer reserves, which cannot be in a path either.
        case reserved(String, isFolder: Bool)
        /// Anything other than a file, folder or link, with a word for it.
        case special(RelativePath, String)
        /// An entry that cannot be examined, with the reason.
        case unreadable(RelativePath, reason: String)
    }

    /// The attributes of the directory itself.
    package struct Top: Equatable, Sendable {
        package let attributes: StoredAttributes
        package let extra: ExtraAttributes
        package let object: FileObject
    }

    /// Bytes that are read at once.
    private static let readSize = 1 << 20

    private let tree: DirectoryTree

    /// - Parameter path: a path on this machine; a symbolic link is followed.
    /// - Throws: `sourceUnreadable`.
    package init(path: String) throws(Failure) {
        do throws(SystemError) {
            tree = DirectoryTree(root: try DirectoryHandle(path: path, on: Disk()))
        } catch {
            throw .unreadable(path, error)
        }
    }

    /// Whether a path on this machine does not exist, or is an empty directory.
    package static func isAbsentOrEmpty(_ path: String) -> Bool {
        do throws(SystemError) {
            return try DirectoryStream(try DirectoryHandle(path: path, on: Disk())).next() == nil
        } catch {
            return error.errno == ENOENT
        }
    }

    package func top() throws(Failure) -> Top {
        do throws(SystemError) {
            let status = try tree.root.disk.status(tree.root.number)
            guard let attributes = StoredAttributes(status) else { throw SystemError(errno: ENOTDIR, call: "fstat") }
            let extended = try? tree.root.disk.extended(tree.root.number)
            return Top(
                attributes: attributes, extra: ExtraAttributes(owner: status.owner, extended: extended ?? nil),
                object: FileObject(status))
        } catch {
            throw .unreadable(".", error)
        }
    }

    /// The entries of a folder, in no order; nil stands for the directory itself.
    ///
    /// - Throws: `sourceUnreadable` if the list cannot be complete.
    package func list(_ folder: RelativePath?) throws(Failure) -> [Found] {
        do throws(SystemError) {
            let directory = try tree.open(folder)
            let stream = try DirectoryStream(directory)
            var found: [Found] = []
            while let name = try stream.next() {
                if let next = try look(at: name, in: directory, folder) { found.append(next) }
            }
            return found
        } catch {
            throw .unreadable(folder?.string ?? ".", error)
        }
    }

    /// - Returns: nil if the entry is gone.
    private func look(
        at bytes: [UInt8], in directory: DirectoryHandle, _ folder: RelativePath?
    ) throws(SystemError) -> Found? {
        guard let name = String(validating: bytes, as: UTF8.self) else {
            return .unnameable(
                Self.shown(String(decoding: bytes, as: UTF8.self), folder), reason: "Its name is not UTF-8; rename it.")
        }
        guard let path = RelativePath.child(name, of: folder) else {
            guard !RelativePath.isReserved(name) else {
                return try directory.status(name).map { .reserved(name, isFolder: $0.isDirectory) }
            }
            return .unnameable(Self.shown(name, folder), reason: Self.reason(Self.shown(name, folder)))
        }
        do throws(SystemError) {
            guard let status = try directory.status(name) else { return nil }
            guard status.isFile || status.isDirectory || status.isLink else {
                return .special(path, Self.kind(status))
            }
            return try WholeEntry(path, named: name, status, in: directory).map { .entry($0) }
        } catch {
            return .unreadable(path, reason: error.reason)
        }
    }

    /// The reason why a text is not a valid path.
    private static func reason(_ text: String) -> String {
        do throws(RelativePath.Fault) {
            _ = try RelativePath(text)
            return ""
        } catch {
            return error.message
        }
    }

    private static func shown(_ name: String, _ folder: RelativePath?) -> String {
        (folder.map { $0.string + "/" } ?? "") + name
    }

    private static func kind(_ status: stat) -> String {
        switch status.st_mode & S_IFMT {
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    /// Whether the path does not exist; false also if that cannot be determined.
    package func isFree(_ path: RelativePath) -> Bool {
        do throws(SystemError) {
            return try tree.open(path.parent).status(String(path.name)) == nil
        } catch {
            return error.errno == ENOENT || error.errno == ENOTDIR
        }
    }

    /// Reads a file and computes its digest.
    ///
    /// - Parameter version: the version that the file must have.
    /// - Returns: nil if the file has another version by now.
    /// - Throws: if it cannot be read.
    package func digest(
        of path: RelativePath, _ function: DigestFunction, version: ContentVersion
    ) throws(Failure) -> Digest? {
        let file: StoredContent
        do throws(Failure) {
            file = try DirectoryReader(tree).openFile(path, as: path)
        } catch {
            guard error.code != .notFound else { return nil }
            throw error.local
        }
        guard file.attributes.version == version else { return nil }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        file.expectAll()
        let digester = ContentDigester(function)
        while true {
            let count: Int
            do throws(SystemError) {
                count = try file.readBytes(into: buffer, at: digester.size)
            } catch {
                throw .unreadable(path.string, error)
            }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
            guard count == buffer.count else { return file.isUnchanged ? digester.finish().digest : nil }
        }
    }
}

extension Failure {
    fileprivate static func unreadable(_ path: String, _ error: SystemError) -> Failure {
        Failure(.sourceUnreadable, "'\(path.escapedForDisplay)' cannot be read: \(error.reason).")
    }
}
