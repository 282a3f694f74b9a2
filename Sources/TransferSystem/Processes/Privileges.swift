import CLinux

/// What the kernel lets this process do that it lets others not (capabilities(7)).
///
/// The user is no sign of that: a container may take them away from root, and a service manager may give them to somebody else.
package enum Privileges {
    // linux/capability.h
    private static let changeOwner: UInt64 = 1 << 0
    private static let overridePermissions: UInt64 = 1 << 1
    private static let actAsOwner: UInt64 = 1 << 3

    /// Whether no permissions bind this process and it may give files away, as of root from whom nothing was taken. As it was when
    /// this was asked first.
    package static let areRoots = areRoots(clinux_effective_capabilities())

    /// - Parameter effective: one bit for each capability.
    static func areRoots(_ effective: UInt64) -> Bool {
        let needed = changeOwner | overridePermissions | actAsOwner
        return effective & needed == needed
    }
}
