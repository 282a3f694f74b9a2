private import Glibc
internal import TransferSystem

extension StandardStream {
    /// What became of bytes.
    enum Written {
        case written
        /// Nobody reads any more, which is no error of ours.
        case closed
        case failed(SystemError)
    }

    /// Writes all of it.
    func write(_ bytes: UnsafeRawBufferPointer) -> Written { Self.write(bytes, to: rawValue) }

    static func write(_ bytes: UnsafeRawBufferPointer, to number: Int32) -> Written {
        var rest = bytes
        while !rest.isEmpty {
            let written = Glibc.write(number, rest.baseAddress, rest.count)
            if written >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if errno == EAGAIN {
                waitUntilWritable(number)
            } else if errno != EINTR {
                return errno == EPIPE ? .closed : .failed(SystemError(errno: errno, call: "write"))
            }
        }
        return .written
    }
}
