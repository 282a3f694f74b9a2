import Testing
import TransferModel

@Suite struct ContentKindTests {
    @Test(
        arguments: [
            (.file, 0, "file"), (.text, 1, "text"), (.picture, 2, "picture"), (.audio, 3, "audio"),
            (.location, 4, "location"),
        ] as [(ContentKind, UInt8, String)])
    func numbersAndNamesAreStable(_ kind: ContentKind, number: UInt8, name: String) {
        #expect(kind.rawValue == number)
        #expect(kind.name == name)
        #expect(ContentKind(name: name) == kind)
    }

    @Test(arguments: ["", "File", "video"]) func otherNames(_ name: String) {
        #expect(ContentKind(name: name) == nil)
    }

    @Test(arguments: [(.keepBoth, 0), (.overwrite, 1), (.skip, 2), (.fail, 3)] as [(ConflictPolicy, UInt8)])
    func policyNumbersAreStable(_ policy: ConflictPolicy, number: UInt8) {
        #expect(policy.rawValue == number)
    }
}
