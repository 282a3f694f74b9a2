import Testing
import TransferHTTP
import TransferModel

@Suite struct PutUploadTests {
    private static func upload(
        _ policy: ConflictPolicy, isTold: Bool = false, _ name: String = "sub dir/a.tar.gz"
    ) throws -> PutUpload {
        PutUpload(in: "/files/", name: try RelativePath(name), policy, isTold: isTold)
    }

    private static func isFailed(_ verdict: UploadVerdict, _ code: ResultCode) -> Bool {
        if case .failed(let fault) = verdict { fault.code == code } else { false }
    }

    @Test(arguments: ConflictPolicy.allCases) func nothingIsReplacedUnlessThatIsWanted(_ policy: ConflictPolicy) throws
    {
        let upload = try Self.upload(policy)
        #expect(upload.step == .put && upload.path == "/files/sub%20dir/a.tar.gz")
        #expect(upload.put().fields.has("if-none-match") == (policy != .overwrite))
        #expect(upload.put().target == upload.path)
    }

    @Test func aServerOfOursIsToldWhatIsWanted() throws {
        let words = try ConflictPolicy.allCases.map { try Self.upload($0, isTold: true).put() }
        #expect(words.map { $0.target.split(separator: "=").last } == ["keep-both", "overwrite", "skip", "fail"])
        #expect(!words.contains { $0.fields.has("if-none-match") })
        var upload = try Self.upload(.keepBoth, isTold: true)
        #expect(Self.isFailed(upload.take(ResponseHead(412)), .pathConflict))
    }

    @Test func namesThatAreTaken() throws {
        var both = try Self.upload(.keepBoth)
        for number in 1...PutUpload.mostNumbers {
            #expect(both.take(ResponseHead(412)) == .goOn)
            #expect(both.path == "/files/sub%20dir/a.tar-\(number).gz")
        }
        #expect(Self.isFailed(both.take(ResponseHead(412)), .pathConflict))
        var skip = try Self.upload(.skip)
        #expect(skip.take(ResponseHead(412)) == .skipped)
        var fail = try Self.upload(.fail)
        #expect(Self.isFailed(fail.take(ResponseHead(412)), .pathConflict))
        var hidden = try Self.upload(.keepBoth, ".profile")
        #expect(hidden.take(ResponseHead(412)) == .goOn && hidden.path == "/files/.profile-1")
    }

    /// The file under the name may be the one that was sent before.
    @Test func afterALostAnswer() throws {
        var upload = try Self.upload(.keepBoth)
        upload.lost(isAllSent: false)
        #expect(upload.take(ResponseHead(412)) == .goOn)
        upload.lost(isAllSent: true)
        #expect(Self.isFailed(upload.take(ResponseHead(412)), .unacknowledged))
        var over = try Self.upload(.overwrite)
        over.lost(isAllSent: true)
        #expect(over.take(ResponseHead(204)) == .complete)
    }

    @Test func foldersAreMadeWhereTheServerAsksForThem() throws {
        var upload = try Self.upload(.overwrite, "a/b c/d")
        #expect(upload.take(ResponseHead(409)) == .goOn && upload.step == .makeFolder)
        #expect(upload.makeFolder().target == "/files/a/" && upload.makeFolder().method == .makeCollection)
        #expect(upload.take(ResponseHead(405)) == .goOn)
        #expect(upload.makeFolder().target == "/files/a/b%20c/")
        #expect(upload.take(ResponseHead(201)) == .goOn && upload.step == .put)
        #expect(Self.isFailed(upload.take(ResponseHead(409)), .pathConflict))
        var other = try Self.upload(.overwrite)
        _ = other.take(ResponseHead(409))
        #expect(Self.isFailed(other.take(ResponseHead(403)), .pathConflict))
    }

    @Test func everyStatus() throws {
        for status in 200...599 {
            var upload = try Self.upload(.overwrite)
            switch upload.take(ResponseHead(status)) {
            case .complete: #expect((200...299).contains(status) && status != 202)
            case .goOn: #expect(status == 409)
            case .wait: #expect([408, 423, 425, 429, 500, 502, 503, 504].contains(status))
            case .failed(let fault): #expect(status == 202 || status >= 300 && !fault.code.isSuccess)
            case .skipped, .anew: #expect(Bool(false), "\(status)")
            }
        }
    }

    /// An accepted upload is not yet a stored one.
    @Test func acceptedIsNotStored() throws {
        var upload = try Self.upload(.overwrite)
        #expect(Self.isFailed(upload.take(ResponseHead(202)), .unacknowledged))
    }
}
