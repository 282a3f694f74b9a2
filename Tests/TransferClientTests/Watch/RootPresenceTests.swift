import Testing

@testable import TransferClient

@Suite struct RootPresenceTests {
    private var presence = RootPresence()
    private let plain = RootPresence.Root(device: 1, inode: 2, isMountPoint: false)
    private let card = RootPresence.Root(device: 9, inode: 1, isMountPoint: true)

    @Test mutating func tellsOnceThatItIsThere() {
        #expect(!presence.isPresent)
        #expect(presence.looked(plain) == .came)
        #expect(presence.isPresent)
        #expect(presence.looked(plain) == .none)
    }

    @Test mutating func tellsOnceThatItIsNot() {
        #expect(presence.looked(nil) == .gone)
        #expect(presence.looked(nil) == .none)
        #expect(presence.looked(plain) == .came)
        #expect(presence.looked(nil) == .gone)
        #expect(!presence.isPresent)
        #expect(presence.looked(nil) == .none)
        #expect(presence.looked(plain) == .came)
    }

    @Test(arguments: [
        RootPresence.Root(device: 1, inode: 3, isMountPoint: false),
        RootPresence.Root(device: 2, inode: 2, isMountPoint: false),
    ]) mutating func anotherDirectoryIsLookedAtAnew(_ other: RootPresence.Root) {
        _ = presence.looked(plain)
        #expect(presence.looked(other) == .came)
    }

    /// After a card is unmounted, the directory below its mount point is not the card.
    @Test mutating func whatACardLeavesIsNotTheCard() {
        #expect(presence.looked(card) == .came)
        #expect(presence.looked(plain) == .gone)
        #expect(presence.looked(plain) == .none)
        #expect(presence.looked(nil) == .none)
        #expect(presence.looked(plain) == .none)
        #expect(presence.looked(card) == .came)
    }

    /// A card is mounted over the watched directory.
    @Test mutating func aCardIsLookedAtAnew() {
        _ = presence.looked(plain)
        #expect(presence.looked(card) == .came)
    }

    /// The file system may give a new directory the inode number of the removed one.
    @Test mutating func aDirectoryWithTheNumberOfTheLastIsLookedAtAnew() {
        presence.lost()
        #expect(presence.looked(plain) == .came)
        presence.lost()
        #expect(!presence.isPresent)
        #expect(presence.looked(plain) == .came)
        presence.lost()
        #expect(presence.looked(nil) == .gone)
        presence.lost()
        #expect(presence.looked(nil) == .none)
    }

    @Test mutating func aCardThatTheKernelHasSeenGo() {
        _ = presence.looked(card)
        presence.lost()
        #expect(presence.looked(plain) == .gone)
        #expect(presence.looked(plain) == .none)
        #expect(presence.looked(card) == .came)
        presence.lost()
        #expect(presence.looked(card) == .came)
    }
}
