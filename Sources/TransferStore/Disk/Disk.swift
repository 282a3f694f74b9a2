import Glibc
import Synchronization
import TransferSystem

/// The funnel for the calls with which a store touches the file system. Tests look at each of them, make it fail, or
/// make it in another way; otherwise it is the call itself, and whether there is somebody to ask costs one comparison.
package final class Disk: Sendable {
    /// Makes a call, or does not.
    ///
    /// - Parameter body: makes the call.
    /// - Returns: as `body` does: what the call returned, or the negative of what it left in errno.
    package typealias Interception = @Sendable (_ call: DiskCall, _ body: () -> Int) -> Int

    private let interception: Interception?
    private let amendment: (@Sendable (inout stat) -> Void)?
    private let readDirtyBytes: @Sendable () -> UInt64?
    /// The present run of the kernel, whose memory is gone with it.
    let boot: String
    /// Whether calls come one after the other, as whoever intercepts them needs it.
    let isSerial: Bool
    /// Whether permissions do not bind this process, and it may give files away.
    package let isRoot: Bool
    /// Whether the kernel has listxattrat(2), as far as is known.
    let hasListAt = Atomic(true)

    /// - Parameters:
    ///   - interception: is asked for every call; for tests.
    ///   - dirtyBytes: stands for what the kernel tells; for tests.
    ///   - amendment: changes what the kernel tells of a file, such as its times; for tests.
    ///   - boot: stands for the present run of the kernel; for tests.
    ///   - isSerial: whether calls come one after the other, in an order that is always the same; for tests.
    ///   - isRoot: stands for whether this process has root's privileges; for tests.
    package init(
        interception: Interception? = nil, dirtyBytes: (@Sendable () -> UInt64?)? = nil,
        amendment: (@Sendable (inout stat) -> Void)? = nil, boot: String? = nil, isSerial: Bool = false,
        isRoot: Bool? = nil
    ) {
        self.boot = boot ?? BootID.current
        self.isRoot = isRoot ?? Privileges.areRoots
        (self.interception, self.amendment, self.isSerial) = (interception, amendment, isSerial)
        if let dirtyBytes {
            readDirtyBytes = dirtyBytes
        } else {
            let memory = DirtyMemory()
            readDirtyBytes = { memory?.bytes }
        }
    }

    /// Bytes that the machine has yet to write; nothing when that is not known.
    var dirtyBytes: UInt64? { readDirtyBytes() }

    /// Lets whoever simulates a disk say what a file is.
    func amend(_ status: inout stat) { amendment?(&status) }

    /// Makes a call, again when a signal interrupted it.
    ///
    /// - Parameters:
    ///   - name: of the call, as its man page is named.
    ///   - call: only made up when somebody intercepts.
    @inline(__always) @discardableResult
    func run<T: SignedInteger & Sendable>(
        _ name: String, _ call: @autoclosure () -> DiskCall, _ body: () -> T
    ) throws(SystemError) -> T {
        guard let interception else { return try system(name, body) }
        let result = try system(name) { () -> Int in
            let result = interception(call()) {
                let result = body()
                return result < 0 ? -Int(errno) : Int(result)
            }
            if result < 0 { errno = Int32(-result) }
            return result
        }
        return T(result)
    }
}
