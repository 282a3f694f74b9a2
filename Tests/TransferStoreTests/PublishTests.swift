import Glibc
import Testing
import TransferProtocol
import TransferTestSupport

@testable import TransferStore

@Suite struct PublishTests {
    @Test(arguments: [false, true]) func nothingIsVisibleBeforeAndNothingIsLeftBehind(isLong: Bool) throws {
        let box = try StoreBox()
        let publication = try box.ready("a/b/photo.png", [1, 2, 3], isLong: isLong)
        #expect(box.names.isEmpty)
        #expect(box.parts.isEmpty == !isLong)
        #expect(try box.store.publish([publication])[0].get() == .committed(publication.path))
        #expect(box.content("a/b/photo.png") == [1, 2, 3])
        #expect(box.parts.isEmpty)
    }

    @Test(arguments: [false, true]) func discardingLeavesNothing(isLong: Bool) throws {
        let box = try StoreBox()
        try box.ready("photo.png", [1, 2, 3], isLong: isLong).staged.discard()
        _ = try box.ready("photo.png", [1, 2, 3], isLong: isLong)
        #expect(box.names.isEmpty)
        #expect(box.parts.isEmpty)
    }

    @Test func bytesMayComeInAnyOrder() throws {
        let box = try StoreBox()
        var random = SplitMix64(seed: 1)
        let content = random.bytes(100_000)
        var publication = try box.ready("x", [], isLong: true)
        for start in stride(from: 0, to: content.count, by: 999).shuffled(using: &random) {
            try content[start..<min(content.count, start + 999)].withUnsafeBytes { bytes in
                Result { () throws(StoreError) in try publication.staged.write(bytes, at: UInt64(start)) }
            }.get()
        }
        publication.size = UInt64(content.count)
        publication.digest = StoreBox.digest(content)
        _ = try box.store.publish([publication])[0].get()
        #expect(box.content("x") == content)
    }

    @Test(arguments: [false, true]) func aTakenNameKeepsBoth(isLong: Bool) throws {
        let box = try StoreBox()
        try box.publish("photo.png", [1])
        #expect(try box.publish("photo.png", [2], isLong: isLong) == .committed(RelativePath("photo-1.png")))
        #expect(try box.publish("photo.png", [3], isLong: isLong) == .committed(RelativePath("photo-2.png")))
        #expect(try box.publish("photo.png", [2], isLong: isLong) == .alreadyStored(RelativePath("photo-1.png")))
        #expect(try box.publish("photo.png", [1], isLong: isLong) == .alreadyStored(RelativePath("photo.png")))
        #expect(box.names == ["photo-1.png", "photo-2.png", "photo.png"])
        #expect(box.parts.isEmpty)
    }

    @Test(arguments: [false, true]) func theOtherPolicies(isLong: Bool) throws {
        let box = try StoreBox()
        try box.publish("x", [1])
        for policy in ConflictPolicy.allCases {
            #expect(try box.publish("x", [1], policy, isLong: isLong) == .alreadyStored(RelativePath("x")))
        }
        #expect(try box.publish("x", [2], .skip, isLong: isLong) == .skipped)
        #expect(try box.refusal("x", [2], .fail) == .pathConflict)
        #expect(box.content("x") == [1])
        #expect(try box.publish("x", [2], .overwrite, isLong: isLong) == .committed(RelativePath("x")))
        #expect(box.content("x") == [2])
        #expect(box.names == ["x"])
        #expect(box.parts.isEmpty)
    }

    @Test func whatIsNoFileIsNeverTakenForOne() throws {
        let box = try StoreBox()
        mkdir(box.path("directory"), 0o755)
        mkfifo(box.path("fifo"), 0o644)
        symlink("/etc/hostname", box.path("link"))
        for name in ["directory", "fifo", "link"] {
            #expect(try box.publish(name, [1]) == .committed(RelativePath(name + "-1")))
        }
        #expect(try box.refusal("directory", [2], .overwrite) == .pathConflict)
        #expect(try box.publish("link", [2], .overwrite) == .committed(RelativePath("link")))
        #expect(box.status("link").st_mode & S_IFMT == S_IFREG)
        #expect(box.parts.isEmpty)
    }

    @Test func aBatchIsManyUploadsEachForItself() throws {
        let box = try StoreBox()
        try box.publish("file", [0])
        let outcomes = box.store.publish([
            try box.ready("same", [1]), try box.ready("file/x", [2]), try box.ready("same", [1]),
            try box.ready("same", [3]), try box.ready("d/e/f", [4]),
        ])
        #expect(try outcomes[0].get() == .committed(RelativePath("same")))
        #expect(throws: StoreError.self) { try outcomes[1].get() }
        #expect(try outcomes[2].get() == .alreadyStored(RelativePath("same")))
        #expect(try outcomes[3].get() == .committed(RelativePath("same-1")))
        #expect(try outcomes[4].get() == .committed(RelativePath("d/e/f")))
    }

    @Test(arguments: [false, true]) func timeAndPermissionsAreKept(isLong: Bool) throws {
        let box = try StoreBox()
        let mask = Glibc.umask(0)
        _ = Glibc.umask(mask)
        let times: [Int64] = [0, -86_400, 1_763_700_000, 4_102_444_800]
        for (number, permissions) in [UInt16(0o644), 0o444, 0o7777, 0o600].enumerated() {
            let modified = Begin.Timestamp(seconds: times[number], nanoseconds: 123_456_789)
            let publication = try box.ready(
                "f\(number)", [1], isLong: isLong, modified: modified, permissions: permissions)
            _ = try box.store.publish([publication])[0].get()
            let status = box.status("f\(number)")
            #expect(status.st_mode & 0o7777 == mode_t(permissions) & 0o777 & ~mask)
            #expect(Int64(status.st_mtim.tv_sec) == times[number])
            #expect(status.st_mtim.tv_nsec == 123_456_789)
        }
        try box.publish("plain", [1], isLong: isLong)
        #expect(box.status("plain").st_mode & 0o7777 == 0o666 & ~mask)
    }

    @Test(arguments: ["照片.png", "😀", "with space", "quo'te\"", "new\nline", "\u{1B}[31m", "..a", ".hidden"])
    func namesAreKeptAsTheyAre(name: String) throws {
        let box = try StoreBox()
        try box.publish(name, [1])
        #expect(box.names == [name])
    }

    @Test func noDescriptorIsLost() throws {
        let box = try StoreBox()
        let before = box.openDescriptors
        for number in 0..<200 {
            try box.publish("d\(number % 5)/x", [UInt8(number)], isLong: number % 2 == 0)
            _ = try box.refusal("d\(number % 5)", [1], .overwrite)
        }
        #expect(box.openDescriptors == before)
    }

    @Test(arguments: 0..<5) func agreesWithAModel(seed: UInt64) throws {
        let box = try StoreBox()
        var random = SplitMix64(seed: seed)
        var model: [String: [UInt8]] = [:]
        for _ in 0..<120 {
            let name = ["a.txt", "b", "c.d.e"].randomElement(using: &random) ?? "b"
            let content = [UInt8.random(in: 0...5, using: &random)]
            let policy = ConflictPolicy.allCases.randomElement(using: &random) ?? .skip
            let expected = Self.apply(name, content, policy, to: &model)
            let outcome = box.store.publish([try box.ready(name, content, policy)])[0]
            #expect((try? outcome.get()) == expected, "seed \(seed)")
        }
        for (name, content) in model { #expect(box.content(name) == content) }
        #expect(box.names == model.keys.sorted())
    }

    /// The rules of conflicts, in a few lines. Nothing stands for a refusal.
    private static func apply(
        _ name: String, _ content: [UInt8], _ policy: ConflictPolicy, to model: inout [String: [UInt8]]
    ) -> Published? {
        guard let path = try? RelativePath(name) else { return nil }
        var candidate = path
        for number in 1... {
            guard let present = model[candidate.string], present != content || policy == .keepBoth else {
                guard model[candidate.string] == nil else { return .alreadyStored(candidate) }
                model[candidate.string] = content
                return .committed(candidate)
            }
            if present == content { return .alreadyStored(candidate) }
            switch policy {
            case .skip: return .skipped
            case .fail: return nil
            case .overwrite:
                model[name] = content
                return .committed(candidate)
            case .keepBoth: candidate = (try? path.numbered(number)) ?? path
            }
        }
        return nil
    }
}
