import Testing
import TransferAccess

@testable import TransferIntake

@Suite struct CallerTests {
    /// The log shows the name of a client that has one. The name of a listener is not its clients' name.
    @Test func names() {
        let (token, listener) = (Grant(.token("t"), name: "ann"), Grant(.listener("sized"), name: "sized"))
        #expect(Caller(token, UploadScope(), peer: "p").name == "ann")
        #expect(Caller(listener, UploadScope(), peer: "p").name == nil)
        #expect(Caller(listener, UploadScope(), peer: "p", person: "bob").name == "bob")
        #expect(Caller(peer: "p").name == nil)
    }
}
