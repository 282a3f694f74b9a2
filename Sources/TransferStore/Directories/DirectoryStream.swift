internal import CLinux
import Glibc
import TransferSystem

/// Reads the names in a directory one after the other, in the order of the file system and in constant memory. Belongs
/// to one task at a time.
final class DirectoryStream {
    private let stream: OpaquePointer

    /// - Parameter directory: opened again, because reading moves a descriptor's position.
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

    /// The next name except `.` and `..`, as bytes; nil at the end.
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

    /// Begins again with the first name.
    func rewind() { rewinddir(stream) }
}
