import Glibc
package import TransferModel
import TransferPorts
import TransferSystem

extension Failure {
    /// The content that was found may not be on disk. If the client sends it again, it replaces the stored file.
    static let doubtedContent = Failure(
        .storageFailed,
        "Could not make the content durable: the server's disk failed meanwhile. Send the upload again.")

    /// The failure for a system call that has failed. Its code and wording are decided here alone.
    ///
    /// - Parameter doing: completes "Could not …".
    init(_ error: SystemError, doing: String) {
        // The file system's room for extended attributes is full, often a few KiB for each file (xattr(7)).
        if error.call == "fsetxattr", [ENOSPC, EDQUOT, E2BIG, ERANGE].contains(error.errno) {
            let hint = "the server's file system has no room for its extended attributes."
            self.init(.storageFailed, "Could not \(doing): \(hint)")
            return
        }
        switch error.errno {
        case ENOSPC: self.init(.insufficientStorage, "Could not \(doing): the server's disk is full.")
        case EDQUOT: self.init(.quotaExceeded, "Could not \(doing): the server's disk quota is used up.")
        case EFBIG:
            self.init(
                .uploadTooLarge, "Could not \(doing): the server's file system does not support files of this size.")
        case EMFILE, ENFILE, ENOMEM:
            let what = error.errno == ENOMEM ? "memory" : "file handles"
            self.init(.busy, "Could not \(doing): the server is out of \(what).")
        case ENAMETOOLONG:
            self.init(.invalidPath, "Could not \(doing): a name is too long for the server's file system.")
        case EILSEQ, EINVAL: self.init(.invalidPath, "Could not \(doing): the server's file system refuses the name.")
        case ELOOP: self.init(.invalidPath, "Could not \(doing): the path goes through a symbolic link.")
        case EXDEV: self.init(.invalidPath, "Could not \(doing): the path leads to another file system.")
        case EISDIR: self.init(.pathConflict, "Could not \(doing): a directory with this name exists.")
        case ENOTDIR: self.init(.pathConflict, "Could not \(doing): a file is where a directory is needed.")
        case EIO:
            let hint = "the server's disk failed (\(error.call)). The kernel's log on the server says more."
            self.init(.storageFailed, "Could not \(doing): \(hint)")
        case ESTALE where error.call == "flock":
            self.init(.busy, "Could not \(doing): another server has taken over the directory. Connect again.")
        case EROFS:
            let hint = "the server's file system is read-only. Check it, and mount it for writing."
            self.init(.storageFailed, "Could not \(doing): \(hint)")
        default: self.init(.storageFailed, "Could not \(doing): \(error).")
        }
    }
}

/// Runs system calls and turns their errors into a `Failure`.
///
/// - Parameter doing: completes "Could not …".
@discardableResult
func attempt<T>(_ doing: @autoclosure () -> String, _ body: () throws(SystemError) -> T) throws(Failure) -> T {
    do throws(SystemError) {
        return try body()
    } catch {
        throw Failure(error, doing: doing())
    }
}

extension Failure {
    /// The same failure for a command that stores on this machine: the sentence names this machine instead of the
    /// server.
    package var local: Failure {
        let code: ResultCode = self.code.class == .server ? .targetFailed : self.code
        return Failure(code, Self.replaced(Array("the server's".utf8), Array("this machine's".utf8), in: message))
    }

    private static func replaced(_ old: [UInt8], _ new: [UInt8], in text: String) -> String {
        var rest = Array(text.utf8)[...]
        var kept: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: old) {
                kept += new
                rest = rest.dropFirst(old.count)
            } else {
                kept.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }
}

/// Runs an operation on this machine, with failures that name this machine.
func localized<T>(_ body: () throws(Failure) -> T) throws(Failure) -> T {
    do throws(Failure) { return try body() } catch { throw error.local }
}
