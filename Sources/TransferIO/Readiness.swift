internal import CLinux

/// What epoll said about a descriptor.
struct Readiness: OptionSet {
    let rawValue: UInt8
    static let readable = Readiness(rawValue: 1)
    static let writable = Readiness(rawValue: 2)
    /// An error or a hang-up: reading and writing will tell which.
    static let failed = Readiness(rawValue: 4)
}

extension Readiness {
    init(epoll events: UInt32) {
        self = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { insert(.readable) }
        if events & EPOLLOUT.rawValue != 0 { insert(.writable) }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { insert(.failed) }
    }
}
