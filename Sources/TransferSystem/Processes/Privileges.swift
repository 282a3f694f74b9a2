import CLinux

/// Privileges of this process (capabilities(7)).
///
/// The user ID does not show the privileges: a container may remove them from root, and a service manager may give them
/// to another user.
package enum Privileges {
    // linux/capability.h
    private static let changeOwner: UInt64 = 1 << 0
    private static let overridePermissions: UInt64 = 1 << 1
    private static let actAsOwner: UInt64 = 1 << 3

    /// Whether the process has the capabilities of root that matter here: permissions do not restrict it, and it may
    /// change the owner of files. Evaluated at first use.
    package static let areRoots = areRoots(clinux_effective_capabilities())

    /// - Parameter effective: the effective capabilities, one bit for each.
    static func areRoots(_ effective: UInt64) -> Bool {
        let needed = changeOwner | overridePermissions | actAsOwner
        return effective & needed == needed
    }
}
