import Testing

@testable import TransferAccess

@Suite struct AccessRightsTests {
    @Test(arguments: [
        (AccessRights.readWrite, true, true, true), (.noRemove, true, true, false), (.readOnly, true, false, false),
        (.writeOnly, false, true, false),
    ]) func whatTheyAllow(_ rights: AccessRights, _ reads: Bool, _ writes: Bool, _ removes: Bool) {
        #expect(rights.mayRead == reads && rights.mayWrite == writes && rights.mayRemove == removes)
    }
}
