import Testing

@testable import TransferSystem

/// The bits are those of linux/capability.h.
@Suite struct PrivilegesTests {
    @Test(
        arguments: [
            (0x1FF_FFFF_FFFF, true), (0b1011, true), (0, false), (0b1010, false), (0b1001, false), (0b0011, false),
            (0x1FF_FFFF_FFF4, false),
        ] as [(UInt64, Bool)])
    func allOfThemAreNeeded(_ effective: UInt64, _ areRoots: Bool) {
        #expect(Privileges.areRoots(effective) == areRoots)
    }
}
