import Glibc
import Synchronization
import TransferSystem

/// All system calls with which a store uses the file system. Tests can observe a call, make it fail, or replace it;
/// without a test, the check for that costs one comparison.
package final class Disk: Sendable {
    /// Makes a call, or something else in its place.
    ///
    /// - Parameter body: makes the call.
    /// - Returns: the result of the call, or its negative errno, as `body` returns it.
    package typealias Interception = @Sendable (_ call: DiskCall, _ body: () -> Int) -> Int

    private let interception: Interception?
    private let amendment: (@Sendable (inout stat) -> Void)?
    private let readDirtyBytes: @Sendable () -> UInt64?
    /// The boot ID of the kernel, whose page cache does not survive a reboot.
    let boot: String
    /// Whether all calls come from one thread, as the simulator needs it.
    let isSerial: Bool
    /// Whether this process has root's privileges, so that permissions do not bind it and it may change owners.
    package let isRoot: Bool
    /// Whether the kernel has listxattrat(2); true until a call fails.
    let hasListAt = Atomic(true)

    /// - Parameters:
    ///   - interception: called for every call; for tests.
    ///   - dirtyBytes: replaces the kernel's count of dirty bytes; for tests.
    ///   - amendment: changes a file's status, such as its times; for tests.
    ///   - boot: replaces the boot ID; for tests.
    ///   - isSerial: whether all calls come from one thread, in a reproducible order; for tests.
    ///   - isRoot: replaces the check for root's privileges; for tests.
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

    /// Bytes that the machine has yet to write; nil if unknown.
    var dirtyBytes: UInt64? { readDirtyBytes() }

    /// Lets a test change the status of a file.
    func amend(_ status: inout stat) { amendment?(&status) }

    /// Makes a call, and repeats it if a signal has interrupted it.
    ///
    /// - Parameters:
    ///   - name: the name of the call, as in its man page.
    ///   - call: evaluated only for an interception.
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
