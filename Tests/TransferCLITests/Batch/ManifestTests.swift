import Testing
import TransferModel

@testable import TransferCLI

@Suite struct ManifestTests {
    @Test func entries() throws {
        let line = #" {"path": "in\/a.jpg", "name": "b.jpg", "folder": "c/d", "kind": "picture"} "#
        let entry = try Manifest.entry(Array(line.utf8), for: .push)
        #expect(entry == Manifest.Entry(path: "in/a.jpg", name: "b.jpg", folder: "c/d", kind: .picture))
        #expect(entry.destination == "c/d/b.jpg")
        #expect(try Manifest.entry(Array(#"{"path":"in/a"}"#.utf8), for: .push).destination == nil)
        #expect(try Manifest.entry(Array(#"{"path":"in/a","folder":"f"}"#.utf8), for: .push).destination == "f/a")
        #expect(try Manifest.entry(Array(#"{"path":"in/a","name":"x/y"}"#.utf8), for: .push).destination == "x/y")
    }

    @Test(arguments: [
        ("a.jpg", "it is not JSON at character 1"), (#"{"path":"a""#, "it is not JSON: it ends too early"),
        ("[]", "it is not an object"), ("{}", "'path' is missing"),
        (#"{"path":""}"#, "'path' must be a string that is not empty"),
        (#"{"path":1}"#, "'path' must be a string that is not empty"),
        (#"{"path":"secret\u0000.txt"}"#, "'path' contains a NUL byte"),
        (#"{"path":"a","name":"b\u0000"}"#, "'name' contains a NUL byte"),
        (#"{"pth":"a"}"#, "unknown member 'pth'; did you mean 'path'?"),
        (#"{"path":"a","kind":"photo"}"#, "unknown kind 'photo'; choose file, text, picture, audio, location"),
        (#"{"path":"a","path":"b"}"#, "a member is given twice"),
    ])
    func faults(_ line: String, _ message: String) {
        #expect(throws: Manifest.Fault(message: message)) { try Manifest.entry(Array(line.utf8), for: .push) }
    }

    @Test func pullsHaveNoKinds() throws {
        let entry = try Manifest.entry(Array(#"{"path":"a","name":"b","folder":"c"}"#.utf8), for: .pull)
        #expect(entry == Manifest.Entry(path: "a", name: "b", folder: "c"))
        #expect(throws: Manifest.Fault(message: "unknown member 'kind'")) {
            try Manifest.entry(Array(#"{"path":"a","kind":"picture"}"#.utf8), for: .pull)
        }
    }
}
