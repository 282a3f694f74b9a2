internal import CLinux
import Glibc
import TransferSystem

/// The names in a directory, one after the other, in the order of the file system. Memory stays flat, however many there
/// are. Belongs to one task at a time.
final class DirectoryStream {
    private let stream: OpaquePointer

    /// - Parameter directory: of which it keeps a descriptor of its own: reading moves its position.
    init(_ directory: DirectoryHandle) throws(SystemError) {
        let number = try directory.disk.open(directory.number, ".", flags: clinux_o_directory | O_RDONLY).release()
        guard let stream = fdopendir(number) else {
            let code = errno
            close(number)
            throw SystemError(errno: code, call: "fdopendir")
        }
        self.stream = stream
    }

    deinit {
        closedir(stream)
    }

    /// The next name but `.` and `..`, as its bytes; nothing at the end.
    func next() throws(SystemError) -> [UInt8]? {
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw SystemError(errno: errno, call: "readdir") }
                return nil
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes -> [UInt8]? in
                let name = bytes[..<(bytes.firstIndex(of: 0) ?? bytes.endIndex)]
                let isDots = name.count <= 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
                return isDots ? nil : Array(name)
            }
            if let name { return name }
        }
    }

    /// Begins anew.
    func rewind() { rewinddir(stream) }
}
